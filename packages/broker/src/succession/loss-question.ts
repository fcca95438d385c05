/**
 * The question whether a controller is lost, as one call on a connection of its own, to whomever it is asked: the others,
 * or that controller itself. Called by the evidence and the poll.
 */
import { TributaryError } from '@tributary/common';
import type { CurrentController, RegisteredBroker } from '@tributary/coordination';
import { checkServerHello, clientHello, methods, type Transport } from '@tributary/protocol';

export interface LossQuestionOptions {
  readonly brokerId: number;
  readonly clusterId: string;
  readonly interBrokerListener: string;
  readonly transport: Transport;
  readonly timeoutMs: number;
}

export interface LossAnswer {
  readonly lost: boolean;
  readonly why: string;
}

export class LossQuestion {
  constructor(private readonly options: LossQuestionOptions) {}

  /** Rejects with UNAVAILABLE (`details.refused`: nobody listens), TIMEOUT, BROKER_MISMATCH and what else that one says. */
  async ask(whom: RegisteredBroker, reign: CurrentController): Promise<LossAnswer> {
    const { brokerId, clusterId, interBrokerListener, transport, timeoutMs } = this.options;
    const endpoint = whom.endpoints.find(({ listener }) => listener === interBrokerListener);
    if (!endpoint) {
      const message = `broker ${whom.brokerId} has no endpoint ${interBrokerListener}`;
      throw new TributaryError('INVALID_CONFIG', message);
    }
    const hello = clientHello({ clusterId, brokerId: whom.brokerId, senderBrokerId: brokerId });
    const { brokerId: controllerId, controllerEpoch } = reign;
    const connection = transport.connect({ host: endpoint.host, port: endpoint.port }, 'control');
    try {
      const request = { hello, controllerId, controllerEpoch };
      const answer = await connection.call(methods.control.confirmLoss, request, { timeoutMs });
      if (answer.hello) checkServerHello(answer.hello);
      return { lost: answer.lost, why: answer.why };
    } finally {
      connection.close();
    }
  }
}
