/**
 * ConfirmLoss: whether a controller is lost, as this broker sees it; asked of that controller itself, whether it is in
 * office. Called by brokers that lost their controller.
 */
import {
  answerHello,
  methods,
  unaryHandler,
  type Acceptor,
  type ConfirmLossRequest,
  type Handler,
} from '@tributary/protocol';
import { TributaryError } from '@tributary/common';
import type { CurrentController } from '@tributary/coordination';
import type { LossAnswer } from './loss-question';

export interface ConfirmLossHandlerOptions {
  readonly brokerId: number;
  acceptor(): Acceptor;
  /** Whoever shows a higher epoch ends this broker's own term. */
  noticeEpoch(controllerEpoch: number): void;
  /** Epoch of this broker's own term. */
  epochInOffice(): number | undefined;
  confirm(reign: CurrentController): Promise<LossAnswer>;
}

export function confirmLossHandler(options: ConfirmLossHandlerOptions): Handler {
  return unaryHandler(methods.control.confirmLoss, async (request) => {
    if (!request.hello) {
      throw new TributaryError('INVALID_ARGUMENT', 'the question whether a controller is lost begins with a hello'); // prettier-ignore
    }
    const hello = answerHello(request.hello, options.acceptor());
    options.noticeEpoch(request.controllerEpoch);
    return { hello, ...(await answer(options, request)) };
  });
}

async function answer(
  options: ConfirmLossHandlerOptions,
  { controllerId, controllerEpoch }: ConfirmLossRequest,
): Promise<LossAnswer> {
  const epoch = options.epochInOffice();
  if (epoch !== undefined) {
    return { lost: false, why: `broker ${options.brokerId} is in office in epoch ${epoch}` };
  }
  if (controllerId === options.brokerId) return { lost: true, why: 'it is not in office' };
  return options.confirm({ brokerId: controllerId, controllerEpoch });
}
