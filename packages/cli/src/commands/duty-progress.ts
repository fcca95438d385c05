/** How far a broker is with what it was told to do. Pure. Called by `trib broker drain|decommission|return --wait`. */
import type { BrokerDescription, BrokerDuty, TopicListing } from '@tributary/client';
import type { Progress } from './wait-until';

/**
 * @param topics only needed for a broker that is drained or decommissioned.
 * @param takers only needed for one that is decommissioned: brokers that may get replicas.
 */
export function dutyProgress(
  duty: BrokerDuty,
  broker: BrokerDescription,
  topics: readonly TopicListing[],
  takers: readonly number[] = [],
): Progress {
  const { brokerId } = broker;
  const name = `broker ${brokerId}`;
  if (duty === 'in service') {
    const done = broker.registered && broker.eligible;
    const missing = broker.registered ? 'is registered, but may not lead yet' : AWAY;
    return { done, lines: [done ? `${name} may lead` : `${name} ${missing}`] };
  }
  if (duty === 'decommissioned') return decommissionProgress(broker, topics, takers);
  return drainProgress(brokerId, topics);
}

const AWAY = 'is away: it may lead when it is started again';

function decommissionProgress(
  { brokerId, leaders, replicas, removingReplicas }: BrokerDescription,
  topics: readonly TopicListing[],
  takers: readonly number[],
): Progress {
  const name = `broker ${brokerId}`;
  if (leaders === 0 && replicas === 0) {
    return { done: true, lines: [`${name} has nothing left: it can be stopped for good`] };
  }
  // A move counts until the old replica is deleted, which is after it left the assignment: there may be more moves than replicas.
  const moves = `${counted(removingReplicas, 'move')} away from it ${removingReplicas === 1 ? 'is' : 'are'} under way`;
  const moving = removingReplicas > 0 ? `; ${moves}` : '';
  const left = `${name} leads ${counted(leaders, 'partition')} and has ${counted(replicas, 'replica')}${moving}`;
  return { done: false, lines: [left, ...stuck(brokerId, topics, takers)] };
} // prettier-ignore

/** Partitions whose replica has nowhere to go: the wait ends only when somebody does something. */
function stuck(
  brokerId: number,
  topics: readonly TopicListing[],
  takers: readonly number[],
): string[] {
  const names = topics.flatMap(({ topic, partitions }) =>
    partitions
      .filter(({ replicas, removingReplicas }) => {
        const stays = replicas.includes(brokerId) && !removingReplicas.includes(brokerId);
        return stays && takers.every((id) => replicas.includes(id));
      })
      .map(({ partition }) => `${topic}-${partition}`),
  );
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  const which = `${names.slice(0, MAX_NAMED).join(', ')}${more}`;
  return [
    `no other broker is there to take the replica of ${which}: add a broker, or lower the count of replicas (trib topic reassign)`,
  ];
}

/** Partitions in one line. */
const MAX_NAMED = 10;

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function drainProgress(brokerId: number, topics: readonly TopicListing[]): Progress {
  const name = `broker ${brokerId}`;
  const led = topics.flatMap(({ topic, partitions }) =>
    partitions.filter(({ leader }) => leader === brokerId).map((one) => ({ topic, ...one })),
  );
  const alone = led.filter(({ isr }) => isr.every((id) => id === brokerId));
  const open = led.length - alone.length;
  if (open > 0) return { done: false, lines: [`${name} still leads ${counted(open, 'partition')} that others can lead`] };
  const lines = alone.map(({ topic, partition }) => `${topic}-${partition}: nobody else is in sync, ${name} goes on leading it`);
  return { done: true, lines: [...lines, `${name} is drained`] };
} // prettier-ignore
