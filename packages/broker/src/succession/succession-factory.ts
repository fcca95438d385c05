/**
 * Wires the pre-emption of lost controllers to the other parts of a broker. Called by the broker's assembly.
 */
import type { BrokerRegistry } from '@tributary/coordination';
import type { Acceptor, Handler } from '@tributary/protocol';
import type { BrokerOptions } from '../broker-options';
import type { ControlReceiver } from '../control/control-receiver';
import type { ControlLimits } from '../control-limits';
import type { ControllerElector } from '../controller/controller-elector';
import type { DecisionJournal } from '../controller/decision-journal';
import { confirmLossHandler } from './confirm-loss-handler';
import { LossEvidence } from './loss-evidence';
import { LossQuestion } from './loss-question';
import { Preemption } from './preemption';

export interface SuccessionContext {
  readonly limits: ControlLimits;
  readonly clusterId: string;
  readonly registry: BrokerRegistry;
  readonly receiver: ControlReceiver;
  readonly elector: ControllerElector;
  readonly journal: DecisionJournal;
  readonly acceptor: () => Acceptor;
}

export interface Succession {
  readonly preemption: Preemption;
  readonly handler: Handler;
}

export function createSuccession(options: BrokerOptions, context: SuccessionContext): Succession {
  const { brokerId, coordinator, clock } = options;
  const { limits, clusterId, registry, receiver, elector, journal, acceptor } = context;
  const timeoutMs = limits.lossProbeTimeoutMs;
  const question = new LossQuestion({ ...options, clusterId, timeoutMs });
  const registered = (): ReturnType<BrokerRegistry['list']> => registry.list();
  const preemption = new Preemption({
    ...options,
    limits,
    question,
    evidence: new LossEvidence({ ...options, limits, question, registered }),
    stream: () => receiver.newestStream,
    hasCoordinator: () =>
      coordinator.status === 'connected' && coordinator.silentForMs < limits.heartbeatTimeoutMs,
    replace: (reign) => elector.preempt(reign),
    note: (what, why, reign) => {
      const { brokerId: id, controllerEpoch } = reign;
      journal.add({ who: `controller ${id}`, what, why, at: clock.wallTime(), controllerEpoch });
    },
  });
  const handler = confirmLossHandler({
    brokerId,
    acceptor,
    noticeEpoch: (controllerEpoch) => elector.noticeEpoch(controllerEpoch),
    epochInOffice: () => elector.controller?.controllerEpoch,
    confirm: (reign) => preemption.confirm(reign),
  });
  return { preemption, handler };
}
