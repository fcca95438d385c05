/**
 * Members of a group on an embedded ensemble with faults (stale reads, lost replies, late watches), from seeds:
 * they join, leave, die, lose their sessions, while the ensemble goes away at times. Checked at every step: no
 * partition is consumed by two at once; in the end each partition has one owner among the living.
 */
import { seededRandom, silentLogger, type Random } from '@tributary/common';
import {
  createGroupStore,
  EmbeddedEnsemble,
  type EmbeddedCoordinator,
  type GroupPartition,
  type PartitionOwnership,
} from '@tributary/coordination';
import { SimulatedClock } from '@tributary/testkit';
import { MemberDriver, type MemberHooks } from './member-driver';
import type { TopicPartitions } from './range-assignor';

const PARTITIONS = 6;
const SESSION_MS = 2_000;

const topicPartitions: TopicPartitions = new Map([
  [
    't',
    Array.from({ length: PARTITIONS }, (_, partition) => ({ topic: 't', topicId: 'T', partition })),
  ],
]);

class Member implements MemberHooks {
  readonly driver: MemberDriver;
  /** Partition to owner epoch. */
  readonly held = new Map<number, number>();
  state: 'alive' | 'closing' | 'closed' | 'dead' = 'alive';

  constructor(
    private readonly world: World,
    readonly name: string,
    readonly coordinator: EmbeddedCoordinator,
  ) {
    const { clock, random } = world;
    this.driver = new MemberDriver({
      store: createGroupStore(coordinator, clock, random),
      group: 'g',
      description: { clientId: name, host: 'h', topics: ['t'], assignors: ['range'] },
      leaseMs: SESSION_MS,
      machine: {
        rebalanceTimeoutMs: 5_000,
        checkTopicsMs: 30_000,
        retryBaseMs: 50,
        retryMaxMs: 1_000,
      },
      clock,
      random,
      logger: silentLogger,
      hooks: this,
    });
  }

  async readTopics(): Promise<TopicPartitions> {
    return topicPartitions;
  }

  take({ partition }: GroupPartition, { ownerEpoch }: PartitionOwnership): void {
    this.world.note(`${this.name} takes ${partition} in epoch ${ownerEpoch}`);
    const other = this.world.holderOf(partition);
    if (other) this.world.violations.push(`${partition}: ${other.name} and ${this.name}`);
    this.held.set(partition, ownerEpoch);
  }

  settled(): void {
    // Nobody is told here.
  }

  revoke(partitions: readonly GroupPartition[]): Promise<void>[] {
    return partitions.map(async ({ partition }) => {
      this.world.note(`${this.name} gives back ${partition}`);
      this.held.delete(partition);
    });
  }

  drop(partitions: readonly GroupPartition[]): void {
    for (const { partition } of partitions) {
      this.world.note(`${this.name} drops ${partition}`);
      this.held.delete(partition);
    }
  }

  fail(): void {
    this.world.violations.push(`${this.name} failed for good`);
  }
}

class World {
  readonly clock = new SimulatedClock();
  readonly random: Random;
  readonly ensemble: EmbeddedEnsemble;
  readonly members: Member[] = [];
  readonly violations: string[] = [];
  readonly diary: string[] = [];
  private made = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.ensemble = new EmbeddedEnsemble({
      clock: this.clock,
      random: seededRandom(seed + 1),
      faults: {
        random: seededRandom(seed + 2),
        staleReads: 0.1,
        lostReplies: 0.02,
        reconnectMs: 50,
        lateWatchMs: 100,
      },
    });
  }

  note(line: string): void {
    this.diary.push(`${Math.round(this.clock.now())} ${line}`);
  }

  get living(): Member[] {
    return this.members.filter(({ state }) => state === 'alive');
  }

  holderOf(partition: number): Member | undefined {
    return this.members.find(({ held }) => held.has(partition));
  }

  /** Each partition has one owner among the living. */
  get settled(): boolean {
    const held = this.living.flatMap((member) => [...member.held.keys()]);
    return held.length === PARTITIONS && new Set(held).size === PARTITIONS;
  }

  async step(): Promise<void> {
    const dice = this.random.next();
    const victim = this.living[Math.floor(this.random.next() * this.living.length)];
    if (this.living.length < 2 || (dice < 0.4 && this.living.length < 5)) await this.join();
    else if (dice < 0.6 && victim) this.kill(victim);
    else if (dice < 0.8 && victim) this.close(victim);
    else if (dice < 0.95 && victim) this.expire(victim);
    else await this.pauseEnsemble();
    await this.clock.advance(this.random.next() * 1_500);
  }

  async join(): Promise<void> {
    const name = `m${++this.made}`;
    this.note(`${name} joins`);
    const coordinator = this.ensemble.connect({ sessionTimeoutMs: SESSION_MS });
    await this.clock.settleWithin(coordinator.ready(60_000), 60_000);
    const member = new Member(this, name, coordinator);
    this.members.push(member);
    member.driver.start();
  }

  private kill(member: Member): void {
    this.note(`${member.name} is killed`);
    member.state = 'dead';
    member.held.clear(); // what is not there consumes nothing
    this.ensemble.abandon(member.coordinator);
  }

  private close(member: Member): void {
    this.note(`${member.name} closes`);
    member.state = 'closing';
    void member.driver.close(10_000).then(() => {
      this.note(`${member.name} has left`);
      member.state = 'closed';
      if (member.held.size > 0) this.violations.push(`${member.name} left with partitions`);
      return member.coordinator.close();
    });
  }

  private expire(member: Member): void {
    if (member.coordinator.sessionId === undefined) return;
    this.note(`the session of ${member.name} expires`);
    // From now on its ownerships are void; that others may take them before it hears of it is no violation.
    member.held.clear();
    this.ensemble.expire(member.coordinator.sessionId);
  }

  private async pauseEnsemble(): Promise<void> {
    this.note('the ensemble is away');
    this.ensemble.halt();
    await this.clock.advance(500 + this.random.next() * 5_000);
    this.ensemble.resume();
    this.note('the ensemble is back');
  }
}

describe('members of a group in a faulty world', () => {
  test.each(Array.from({ length: 12 }, (_, i) => 1_000 + i * 17))('seed %d', async (seed) => {
    const world = new World(seed);
    for (let i = 0; i < 15; i += 1) await world.step();
    if (world.living.length === 0) await world.join();
    const settled = await world.clock.runUntil(() => world.settled, 60_000);
    const story = world.diary.slice(-40).join('\n');
    expect({ seed, violations: world.violations, settled, ...(settled ? {} : { story }) }).toEqual({
      seed,
      violations: [],
      settled: true,
    });
    // And it stays so: nothing moves any more.
    const before = world.diary.length;
    await world.clock.advance(20_000);
    expect(world.diary.slice(before).filter((line) => line.includes('takes'))).toEqual([]);
    const closing = world.living.map((member) => member.driver.close(5_000));
    await world.clock.settleWithin(Promise.all(closing), 10_000);
    expect(world.members.flatMap((member) => [...member.held])).toEqual([]);
  });
});
