/**
 * What the controller does when brokers come, go, bounce, fall silent. Part of `step`; says what changed and
 * leaves the partitions to `reconcileAll`.
 */
import type { RegisteredBroker } from '@tributary/coordination';
import { isTrusted } from './broker-standing';
import { endOutages } from './outage-duties';
import { pastOf } from './broker-past';
import type { ControllerDraft } from './controller-draft';
import type { BrokerLife, ControllerEvent } from './controller-event';
import { interruptProbation, suspect, watchSuspect } from './suspicion-duties';

/** The registry as it is now. A larger epoch under the same id is a failure, then a startup (KIP-380). */
export function onBrokersChanged(
  draft: ControllerDraft,
  brokers: readonly RegisteredBroker[],
): boolean {
  let changed = false;
  const present = new Set(brokers.map((broker) => broker.brokerId));
  for (const brokerId of [...draft.allBrokers().keys()]) {
    if (present.has(brokerId)) continue;
    draft.effect({ type: 'close-link', brokerId });
    endOutages(draft, brokerId);
    suspectOnce(draft, brokerId, 'its registration ended');
    draft.removeBroker(brokerId);
    draft.journal(`broker ${brokerId}`, 'gone', 'its registration ended');
    changed = true;
  }
  for (const registration of brokers) {
    const { brokerId, brokerEpoch } = registration;
    const known = draft.broker(brokerId)?.registration.brokerEpoch;
    if (known !== undefined && known >= brokerEpoch) continue;
    if (known !== undefined) draft.effect({ type: 'close-link', brokerId });
    endOutages(draft, brokerId);
    suspectOnce(draft, brokerId, 'it bounced');
    draft.addBroker(registration);
    const why = known === undefined ? 'registered' : `bounced: broker epoch was ${known}`;
    draft.journal(`broker ${brokerId}`, `joins in broker epoch ${brokerEpoch}`, why);
    changed = true;
  }
  return changed;
}

type StreamEvent = Extract<
  ControllerEvent,
  { type: 'stream-up' | 'stream-down' | 'refused' | 'acknowledged' }
>;

/** True when the broker's standing changed. */
export function onStreamEvent(draft: ControllerDraft, event: StreamEvent): boolean {
  const broker = draft.brokerInLife(event);
  if (!broker) return false;
  if (event.type === 'acknowledged' && event.sequence < broker.imageSequence) return false;
  if (event.type === 'stream-up') draft.setBroker({ ...broker, past: pastOf(event.hello) });
  const moved = draft.moveBroker(draft.brokerInLife(event) ?? broker, event.type);
  // Also on a stream that replaces one that was up: each begins with an image.
  if (event.type === 'stream-up') draft.image(event.brokerId);
  if (!moved) return false;
  const who = `broker ${event.brokerId}`;
  if (event.type === 'refused') {
    draft.journal(who, 'failed', event.why);
    suspect(draft, broker, 'it failed');
  }
  if (event.type === 'stream-down') {
    draft.journal(who, 'stream lost', event.why);
    interruptProbation(draft, event.brokerId);
  }
  if (event.type === 'acknowledged') {
    draft.journal(who, 'ready', 'acknowledged the image');
    watchSuspect(draft, event.brokerId);
  }
  return true;
}

/** What failed before its registration ended is not suspected twice. */
function suspectOnce(draft: ControllerDraft, brokerId: number, why: string): void {
  const broker = draft.broker(brokerId);
  if (broker && broker.standing !== 'failed') suspect(draft, broker, why);
}

/**
 * 'most': more than half of the others fell silent at once, and at least two. Then it is likelier that this
 * controller is cut off than that they all died.
 */
export function onLate(draft: ControllerDraft, lives: readonly BrokerLife[]): 'most' | 'some' {
  const { controllerId } = draft.state;
  const late = lives.flatMap((life) => {
    const broker = draft.brokerInLife(life);
    return broker && life.brokerId !== controllerId ? [broker] : [];
  });
  const trustedLate = late.filter((broker) => isTrusted(broker.standing)).length;
  const others = [...draft.allBrokers().values()].filter(
    ({ registration, standing }) => registration.brokerId !== controllerId && isTrusted(standing),
  ).length;
  if (trustedLate >= 2 && trustedLate * 2 > others) return 'most';
  for (const broker of late) {
    if (!draft.moveBroker(broker, 'late')) continue;
    const { brokerId } = broker.registration;
    const why = 'no heartbeat in time';
    draft.effect({ type: 'cut-stream', brokerId, why });
    draft.journal(`broker ${brokerId}`, 'failed', why);
    suspect(draft, broker, why);
  }
  return 'some';
}
