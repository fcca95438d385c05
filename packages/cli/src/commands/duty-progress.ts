/** How far a broker is with what it was told to do. Pure. Called by `trib broker drain|decommission|return --wait`. */
import type { BrokerDescription, BrokerDuty, TopicListing } from '@tributary/client';
import type { Progress } from './wait-until';

/** @param topics only needed for a broker that is drained. */
export function dutyProgress(
  duty: BrokerDuty,
  broker: BrokerDescription,
  topics: readonly TopicListing[],
): Progress {
  const { brokerId, leaders, replicas, removingReplicas } = broker;
  const name = `broker ${brokerId}`;
  if (duty === 'in service') {
    const done = broker.registered && broker.eligible;
    return {
      done,
      lines: [done ? `${name} may lead` : `${name} is not there, or may not lead yet`],
    };
  }
  if (duty === 'decommissioned') {
    const done = leaders === 0 && replicas === 0;
    const left = `${name} leads ${leaders} partitions and has ${replicas} replicas, ${removingReplicas} of them are being moved away`;
    return { done, lines: [done ? `${name} has nothing left: it can be stopped for good` : left] };
  }
  return drainProgress(brokerId, topics);
}

function drainProgress(brokerId: number, topics: readonly TopicListing[]): Progress {
  const name = `broker ${brokerId}`;
  const led = topics.flatMap(({ topic, partitions }) =>
    partitions.filter(({ leader }) => leader === brokerId).map((one) => ({ topic, ...one })),
  );
  const alone = led.filter(({ isr }) => isr.every((id) => id === brokerId));
  const open = led.length - alone.length;
  if (open > 0) return { done: false, lines: [`${name} still leads ${open} partitions that others can lead`] };
  const lines = alone.map(({ topic, partition }) => `${topic}-${partition}: nobody else is in sync, ${name} goes on leading it`);
  return { done: true, lines: [...lines, `${name} is drained`] };
} // prettier-ignore
