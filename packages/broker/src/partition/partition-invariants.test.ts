/**
 * A leader, two followers and a controller under a random schedule of appends, acknowledgements, ISR changes
 * and lost answers, checked after every step: HW <= LEO (R7), HW never goes back, HW <= least real end of every
 * replica that the controller holds for in sync (so any of them may lead), and the leader's maximal ISR is a superset of
 * the true one (R4). With `flush=sync` a real end is what is on the device, the leader's own included: the power
 * may fail everywhere at once.
 */
import * as fc from 'fast-check';
import type { FlushMode } from '@tributary/common';
import { isInMaximalIsr } from './in-sync-replicas';
import { newReplica, type LeaderState, type PartitionEffect } from './partition-state';
import { step } from './partition-step';

type Command =
  | { readonly kind: 'append'; readonly count: number }
  | { readonly kind: 'replicate' | 'sync'; readonly id: number; readonly part: number }
  | { readonly kind: 'syncOwn'; readonly part: number }
  | {
      readonly kind: 'acknowledge' | 'attach' | 'detach' | 'bounce' | 'ineligible';
      readonly id: number;
    }
  | { readonly kind: 'answer'; readonly how: 'ok' | 'lost' | 'refused' | 'ineligible' }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'controller'; readonly drop: number };

const id = fc.constantFrom(2, 3);
const kind = <K extends Command['kind']>(one: K): fc.Arbitrary<K> => fc.constant(one);
const how = fc.constantFrom<'ok' | 'lost' | 'refused' | 'ineligible'>(
  'ok',
  'lost',
  'refused',
  'ineligible',
);
const part = fc.constantFrom(0.5, 1, 1);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: kind('append'), count: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: kind('replicate'), id, part }) },
  { weight: 5, arbitrary: fc.record({ kind: kind('sync'), id, part }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('syncOwn'), part }) },
  { weight: 8, arbitrary: fc.record({ kind: kind('acknowledge'), id }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('attach'), id }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('detach'), id }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('bounce'), id }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('ineligible'), id }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('answer'), how }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('pass'), ms: fc.integer({ min: 1, max: 400 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('controller'), drop: id }) },
);

interface Replica {
  end: number;
  durableEnd: number;
  epoch: number;
  attachedEpoch: number;
  eligible: boolean;
}

/** The world around the core: real logs, and the truth as the controller has it. */
class World {
  state: LeaderState;
  now = 0;
  isr = [1, 2, 3];
  partitionEpoch = 1;
  readonly replicas = new Map<number, Replica>([2, 3].map((one) => [one, newFollower(one)]));
  private asked: Extract<PartitionEffect, { kind: 'alterPartition' }> | undefined;
  private readonly settings: LeaderState['settings'];

  constructor(
    minInsyncReplicas: number,
    private readonly flush: FlushMode,
  ) {
    this.settings = { minInsyncReplicas, replicaLagTimeMaxMs: 300, flush };
    const { isr, partitionEpoch, settings, brokers } = this;
    const shared = { kind: 'lead', brokerId: 1, leaderEpoch: 1 } as const;
    const ends = { logEndOffset: 10, durableEndOffset: 8 };
    const event = { ...shared, ...ends, partitionEpoch, isr, replicas: isr, brokers, settings };
    this.state = step(newReplica(10, 5), event, 0).state as LeaderState;
  }

  private get brokers(): LeaderState['brokers'] {
    const views = [...this.replicas].map(
      ([one, { epoch, eligible }]) => [one, { brokerEpoch: epoch, eligible }] as const,
    );
    return new Map([[1, { brokerEpoch: 1, eligible: true }], ...views]);
  }

  private send(event: Parameters<typeof step>[1]): void {
    const before = this.state.highWatermark;
    const { state, effects } = step(this.state, event, this.now);
    this.state = state as LeaderState;
    for (const effect of effects) if (effect.kind === 'alterPartition') this.asked = effect;
    hold(this.state.highWatermark >= before, 'the HW went back');
  }

  run(command: Command): void {
    switch (command.kind) {
      case 'append':
        return this.send({
          kind: 'appended',
          logEndOffset: this.state.logEndOffset + command.count,
        });
      case 'replicate': {
        const replica = this.replicas.get(command.id)!;
        if (replica.attachedEpoch !== replica.epoch) return;
        replica.end += Math.floor((this.state.logEndOffset - replica.end) * command.part);
        return;
      }
      case 'sync': {
        const replica = this.replicas.get(command.id)!;
        replica.durableEnd += Math.floor((replica.end - replica.durableEnd) * command.part);
        return;
      }
      case 'syncOwn': {
        const { logEndOffset, durableEndOffset } = this.state;
        const synced = Math.floor((logEndOffset - durableEndOffset) * command.part);
        return this.send({ kind: 'durable', durableEndOffset: durableEndOffset + synced });
      }
      case 'acknowledge': {
        const { id: brokerId } = command;
        const replica = this.replicas.get(brokerId)!;
        if (replica.attachedEpoch !== replica.epoch) return;
        const logEndOffset = this.countedEnd(replica);
        const caughtUpAt = logEndOffset === this.state.logEndOffset ? this.now : undefined;
        return this.send({ kind: 'acknowledged', brokerId, logEndOffset, caughtUpAt });
      }
      case 'attach': {
        const replica = this.replicas.get(command.id)!;
        replica.attachedEpoch = replica.epoch;
        return this.send({ kind: 'attached', brokerId: command.id, brokerEpoch: replica.epoch });
      }
      case 'detach':
        this.replicas.get(command.id)!.attachedEpoch = -1;
        return this.send({ kind: 'detached', brokerId: command.id });
      case 'bounce':
        return this.bounce(command.id);
      case 'ineligible': {
        const replica = this.replicas.get(command.id)!;
        replica.eligible = !replica.eligible;
        return this.send({ kind: 'cluster', brokers: this.brokers, settings: this.settings });
      }
      case 'answer':
        return this.answer(command.how);
      case 'pass':
        this.now += command.ms;
        return this.send({ kind: 'tick' });
      case 'controller':
        return this.controllerDrops(command.drop);
    }
  }

  private countedEnd({ end, durableEnd }: Replica): number {
    return this.flush === 'sync' ? durableEnd : end;
  }

  /** A new life, which may have lost its tail: the controller takes it out of the ISR before it counts again. */
  private bounce(brokerId: number): void {
    this.controllerDrops(brokerId);
    const replica = this.replicas.get(brokerId)!;
    replica.epoch += 10;
    replica.attachedEpoch = -1;
    replica.end = Math.max(0, replica.end - 3);
    replica.durableEnd = Math.min(replica.durableEnd, replica.end);
    this.send({ kind: 'detached', brokerId });
    this.send({ kind: 'cluster', brokers: this.brokers, settings: this.settings });
  }

  private controllerDrops(brokerId: number): void {
    if (!this.isr.includes(brokerId)) return;
    this.isr = this.isr.filter((one) => one !== brokerId);
    this.partitionEpoch += 1;
    const { partitionEpoch, isr } = this;
    const state = { leaderId: 1, leaderEpoch: 1, partitionEpoch, isr, replicas: [1, 2, 3] };
    this.send({ kind: 'changed', ...state });
  }

  /** Compare-and-set as the controller does it; the answer may be lost after it took effect. */
  private answer(how: 'ok' | 'lost' | 'refused' | 'ineligible'): void {
    const asked = this.asked;
    if (!asked) return;
    this.asked = undefined;
    const { requestId } = asked;
    if (how === 'refused')
      return this.send({ kind: 'alterFailed', requestId, code: 'UNAVAILABLE' });
    const wanted = asked.members.map(({ brokerId }) => brokerId);
    const same = wanted.length === this.isr.length && wanted.every((one) => this.isr.includes(one));
    if (!same) {
      if (asked.partitionEpoch !== this.partitionEpoch) {
        return this.send({ kind: 'alterFailed', requestId, code: 'INVALID_PARTITION_EPOCH' });
      }
      const added = asked.members.filter(({ brokerId }) => !this.isr.includes(brokerId));
      const fits = added.every(({ brokerId, brokerEpoch }) => {
        const replica = this.replicas.get(brokerId);
        return replica?.eligible && replica.epoch === brokerEpoch;
      });
      if (!fits || how === 'ineligible') {
        return this.send({ kind: 'alterFailed', requestId, code: 'INELIGIBLE_REPLICA' });
      }
      this.isr = wanted;
      this.partitionEpoch += 1;
    }
    if (how === 'lost') return this.send({ kind: 'alterFailed', requestId, code: 'TIMEOUT' });
    const { partitionEpoch, isr } = this;
    this.send({ kind: 'altered', requestId, leaderEpoch: 1, partitionEpoch, isr });
  }

  check(): void {
    const { highWatermark, logEndOffset, durableEndOffset } = this.state;
    hold(highWatermark <= logEndOffset, 'HW above LEO');
    const own = { end: logEndOffset, durableEnd: durableEndOffset };
    for (const member of this.isr) {
      const end = this.countedEnd({ ...newFollower(member), ...own, ...this.replicas.get(member) });
      hold(end >= highWatermark, `broker ${member} in the true ISR ends at ${end}`);
      hold(isInMaximalIsr(this.state, member), `broker ${member} is not in the maximal ISR`);
    }
  }
}

function newFollower(brokerId: number): Replica {
  return { end: 10, durableEnd: 9, epoch: brokerId, attachedEpoch: -1, eligible: true };
}

/** As `expect`, which is too slow for every step of every schedule. */
function hold(condition: boolean, otherwise: string): void {
  if (!condition) throw new Error(otherwise);
}

it('keeps R4, R7 and "every true ISR member has everything below the HW" under any schedule', () => {
  const schedule = fc.array(command, { minLength: 1, maxLength: 120, size: 'max' });
  const flush = fc.constantFrom<FlushMode>('os', 'sync');
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), flush, schedule, (minIsr, mode, commands) => {
      const world = new World(minIsr, mode);
      for (const one of commands) {
        world.run(one);
        world.check();
      }
    }),
    { numRuns: 600 },
  );
});
