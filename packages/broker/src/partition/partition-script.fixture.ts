/**
 * Broker 1 leads epoch 5 with the ISR [1, 2] of [1, 2, 3], at log end 100 and HW 40: the state from which the
 * tests of the partition core set out, and the words for what happens next.
 */
import {
  newReplica,
  type BrokerView,
  type EventOf,
  type FollowerState,
  type LeaderState,
  type OfflineState,
  type PartitionEffect,
  type PartitionEvent,
  type PartitionSettings,
  type PartitionState,
} from './partition-state';
import { step } from './partition-step';

export const LAG_MS = 10_000;
export const brokers = new Map<number, BrokerView>(
  [1, 2, 3, 4].map((id) => [id, { brokerEpoch: id * 10, eligible: true }]),
);
export const settings: PartitionSettings = {
  minInsyncReplicas: 2,
  replicaLagTimeMaxMs: LAG_MS,
  flush: 'os',
};
export const syncSettings: PartitionSettings = { ...settings, flush: 'sync' };

export const leadEvent: EventOf<'lead'> = {
  kind: 'lead',
  brokerId: 1,
  leaderEpoch: 5,
  partitionEpoch: 7,
  isr: [1, 2],
  replicas: [1, 2, 3],
  logEndOffset: 100,
  durableEndOffset: 100,
  brokers,
  settings,
};

export const offline: OfflineState = newReplica(100, 40);
export const failed: OfflineState = { ...offline, failed: true, reason: 'EIO' };
export const leader = step(offline, leadEvent, 0).state as LeaderState;
export const follower = step(
  offline,
  { kind: 'follow', leaderId: 2, leaderEpoch: 5, partitionEpoch: 7 },
  0,
).state as FollowerState;

/** Runs the events and gives the last state with all effects. */
export function run(
  from: PartitionState,
  ...events: (PartitionEvent & { at?: number })[]
): { state: PartitionState; effects: PartitionEffect[]; leader: LeaderState } {
  let state = from;
  const effects: PartitionEffect[] = [];
  for (const { at = 0, ...event } of events) {
    const next = step(state, event, at);
    state = next.state;
    effects.push(...next.effects);
  }
  return { state, effects, leader: state as LeaderState };
}

export function attach(brokerId: number): EventOf<'attached'> {
  return { kind: 'attached', brokerId, brokerEpoch: brokerId * 10 };
}

export function ack(
  brokerId: number,
  logEndOffset: number,
  caughtUpAt?: number,
): EventOf<'acknowledged'> {
  return { kind: 'acknowledged', brokerId, logEndOffset, caughtUpAt };
}

export const append = (logEndOffset: number): PartitionEvent => ({
  kind: 'appended',
  logEndOffset,
});
export const durable = (durableEndOffset: number): PartitionEvent => ({
  kind: 'durable',
  durableEndOffset,
});
export const alters = (effects: readonly PartitionEffect[]): number[][] =>
  effects
    .filter((effect) => effect.kind === 'alterPartition')
    .map((effect) => effect.members.map(({ brokerId }) => brokerId));
