/**
 * One seed: a whole cluster with clients, under load and faults, judged at every step, then healed and judged again. One seed
 * is one run, event by event. Called by the command, its workers, and the suite.
 */
import type { Client } from '@tributary/client';
import { sleep } from '@tributary/common';
import { SimulatedCluster } from '@tributary/testkit';
import { ClientJudge } from './checker/client-judge';
import { ClusterModel } from './checker/cluster-model';
import { DamageChecks } from './checker/damage-checks';
import { LifeChecker } from './checker/life-checker';
import { MetadataAudit } from './checker/metadata-audit';
import { QuietChecks } from './checker/quiet-checks';
import { SettledChecks } from './checker/settled-checks';
import { Violations, type Violation } from './checker/violations';
import { FaultWorld } from './nemesis/fault-world';
import { Nemesis } from './nemesis/nemesis';
import { Operator } from './nemesis/operator';
import { unfoundRot } from './nemesis/rot-faults';
import { Supervisor } from './nemesis/supervisor';
import { CHURN_TOPIC, planOf, type PlannedTopic, type SeedPlan } from './seed-plan';
import { EndWatcher } from './workload/end-watcher';
import { ChurnReader, GroupMember, PlainReader, type GroupProgress } from './workload/load-reader';
import { LoadWriter, type LoadTopic } from './workload/load-writer';
import { StartReader } from './workload/start-reader';

export interface SeedResult {
  readonly seed: number;
  /** The first one; undefined: none. */
  readonly violation: Violation | undefined;
  readonly steps: number;
  readonly faults: number;
  readonly simulatedMs: number;
  /** How often what happened, by name. */
  readonly coverage: Readonly<Record<string, number>>;
  /** Hash of everything that arrived anywhere. */
  readonly trace: string;
  /** What was logged last, where there is a violation. */
  readonly tail: readonly string[];
}

export interface SeedRunOptions {
  /** Prints each event. Default: nobody is told. */
  onLine?(line: string): void;
  /** Kinds of fault that are left out. Default: none. */
  readonly without?: readonly string[];
  /** Lines of a failing seed to give back. Default 30. */
  readonly tailLines?: number;
}

/** Fewer is no test: load and faults go on until both are reached. */
export const MIN_STEPS = 5_000;
export const MIN_FAULTS = 5;
/** A run that reaches it hangs. */
const RUN_MS = 15 * 60_000;
const MAX_LOAD_MS = 60_000;
const RECOVERY_MS = 90_000;
const DELIVERY_MS = 8_000;

export class SeedRun {
  readonly cluster: SimulatedCluster;
  private readonly plan: SeedPlan;
  private readonly violations: Violations;
  private readonly judge: ClientJudge;
  private readonly model: ClusterModel;
  private readonly audit: MetadataAudit;
  private readonly lives: LifeChecker;
  private readonly supervisor: Supervisor;
  private readonly trouble = {
    staleReads: 1e-9,
    lostReplies: 0,
    lateWatchMs: 0,
    reconnectMs: 200,
    lateRequests: new Map<string, number>(),
  };
  private readonly damage: DamageChecks;
  private nemesis: Nemesis | undefined;
  private uncleanElections = 0;

  constructor(
    seed: number,
    private readonly options: SeedRunOptions = {},
  ) {
    this.plan = planOf(seed);
    const when = (): { step: number; atMs: number } => ({
      step: this.cluster.clock.steps,
      atMs: this.cluster.clock.now(),
    });
    this.violations = new Violations(when);
    this.judge = new ClientJudge(this.violations);
    this.model = new ClusterModel(this.violations, (record) => this.judge.committed(record));
    this.judge.watch(this.model);
    this.audit = new MetadataAudit(this.model, this.violations, () => this.cluster.clock.now());
    this.lives = new LifeChecker(this.model, (id) => this.cluster.broker(id).disk);
    const { brokers, sessionTimeoutMs, syncMs, dataLimits } = this.plan;
    this.cluster = new SimulatedCluster({
      seed,
      brokers,
      sessionTimeoutMs,
      syncMs,
      dataLimits,
      maintenanceIntervalMs: 2_000,
      coordinatorFaults: this.trouble,
      observer: this.lives,
      observeTransaction: (transaction) => this.audit.transaction(transaction),
      onLine: options.onLine,
    });
    this.damage = new DamageChecks(this.cluster, this.model, this.violations);
    this.supervisor = new Supervisor(this.cluster);
  }

  async run(): Promise<SeedResult> {
    const { clock } = this.cluster;
    let done = false;
    let failure: unknown;
    this.play().then(
      () => (done = true),
      (thrown: unknown) => {
        failure = thrown;
        done = true;
      },
    );
    const over = await clock.runUntil(() => done || this.violations.first !== undefined, RUN_MS);
    if (!over) this.violations.report('L6', `the run does not end within ${RUN_MS} simulated ms`);
    if (failure !== undefined) {
      this.violations.report('run', stackOf(failure));
    }
    this.supervisor.stop();
    return this.result();
  }

  /** Something threw where nobody waited for it. */
  escaped(thrown: unknown): void {
    this.violations.report('assertion', stackOf(thrown));
  }

  private async play(): Promise<void> {
    const { cluster, plan } = this;
    cluster.network.setDelay({ minMs: 0.1, maxMs: plan.maxDelayMs });
    await cluster.start();
    const admin = cluster.client('admin');
    for (const topic of plan.topics) await this.createTopic(admin, topic);
    const load = this.beginLoad();
    this.supervisor.start();
    const readers = ['reader', 'start-reader', 'member-1', 'member-2', 'watcher'];
    const clients = ['writer', 'leader-writer', ...readers];
    const { model, supervisor } = this;
    const world = new FaultWorld({
      plan,
      cluster,
      model,
      supervisor,
      admin,
      clients,
      coordinatorTrouble: this.trouble,
      load: load.topics,
    });
    this.nemesis = new Nemesis(world, this.options.without);
    this.nemesis.start();
    await this.underLoad(load, this.nemesis);
    cluster.note('HEALED');
    this.nemesis.heal();
    for (const writer of load.writers) writer.end();
    await this.settle(load, world);
  }

  private async createTopic(admin: Client, planned: PlannedTopic): Promise<void> {
    const { topic, partitions, replicationFactor, flush, minIsr, keys, segmentBytes } = planned;
    const configs: Record<string, string> = {
      flush,
      'min.insync.replicas': String(Math.min(minIsr, replicationFactor)),
      'segment.bytes': String(segmentBytes),
    };
    if (keys > 0) {
      configs['cleanup.policy'] = 'compact';
      configs['min.cleanable.dirty.ratio'] = '0.1';
    }
    await admin.admin().createTopic({ topic, partitions, replicationFactor, configs });
  }

  private beginLoad(): Load {
    const { cluster, plan, judge, violations } = this;
    const { clock, random } = cluster;
    const topics: LoadTopic[] = plan.topics.map(({ topic, partitions, keys }) => ({
      topic,
      partitions,
      keys,
    }));
    const writerOf = (
      name: string,
      isIdempotent: boolean,
      written: LoadTopic[],
      intervalMs: number,
    ): LoadWriter =>
      new LoadWriter(cluster.client(name), clock, random, judge, {
        name,
        isIdempotent,
        topics: written,
        intervalMs,
        deliveryTimeoutMs: DELIVERY_MS,
      });
    const writers = [
      writerOf('writer', true, topics, plan.writeIntervalMs),
      writerOf('leader-writer', false, topics.slice(0, 1), plan.writeIntervalMs * 2),
    ];
    const churn = [{ topic: CHURN_TOPIC, partitions: 1, keys: 0 }];
    if (plan.churns) {
      writers.push(writerOf('churn-writer', true, churn, 100));
    }
    const context = { clock, judge, violations, topics };
    const churnReader = plan.churns
      ? new ChurnReader(cluster.client('churn-reader'), 'churn-reader', {
          ...context,
          topics: churn,
        })
      : undefined;
    churnReader?.start();
    const progress: GroupProgress = new Map();
    const group = { name: 'billing', progress };
    const reader = new PlainReader(cluster.client('reader'), 'reader', context);
    const members = ['member-1', 'member-2'].map(
      (name) => new GroupMember(cluster.client(name), name, context, group),
    );
    const watcher = new EndWatcher(cluster.client('watcher'), context);
    const startReader = new StartReader(cluster.client('start-reader'), { ...context, random });
    for (const one of [...writers, reader, startReader, ...members, watcher]) one.start();
    return { topics, writers, reader, startReader, churnReader, members, watcher, progress };
  }

  private async underLoad(load: Load, nemesis: Nemesis): Promise<void> {
    const { clock } = this.cluster;
    const began = clock.now();
    const enough = (): boolean => clock.steps >= MIN_STEPS && nemesis.faults >= MIN_FAULTS;
    while (clock.now() - began < this.plan.loadMs || !enough()) {
      await sleep(clock, 200);
      this.judgeAnswers(load);
      this.damage.judgeLeaders();
      if (clock.now() - began > MAX_LOAD_MS) throw new Error('too little happens');
    }
  }

  /** L2. */
  private judgeAnswers({ writers }: Load): void {
    for (const writer of writers) {
      const late = writer.overdue(this.cluster.clock.now());
      if (late) this.violations.report('L2', `${late.writer}:${late.number} has no answer yet`);
    }
  }

  private async settle(load: Load, world: FaultWorld): Promise<void> {
    const { writers, reader, startReader, churnReader, members, watcher, progress } = load;
    const checks = new SettledChecks(this.cluster, this.model, this.violations);
    await this.until('L2', () =>
      writers.flatMap(({ pending }) =>
        [...pending].map(({ number, topic }) => `${topic} ${number}`),
      ),
    );
    await this.until('R10', () => unfoundRot(world));
    const operator = new Operator(world);
    await this.until('L1', () => {
      operator.care();
      return checks.notInSync();
    });
    this.uncleanElections = operator.uncleanElections;
    await this.until('R10', () => this.damage.notWhole());
    await this.until('L5', () => [...checks.notDeleted(), ...checks.notMoved()]);
    await this.until('L1', () => checks.notCommitted());
    const behind = (
      topics: readonly { topic: string; partitions: number }[],
      readUpTo: (topic: string, partition: number) => number,
    ): string[] =>
      topics.flatMap(({ topic, partitions }) =>
        Array.from({ length: partitions }, (_, partition) => {
          const end = this.judge.incarnations(topic, partition)[0]?.trueHighWatermark ?? 0;
          const at = readUpTo(topic, partition);
          return at < end ? [`${topic}-${partition}: ${at} of ${end}`] : [];
        }).flat(),
      );
    await this.until('L3', () =>
      behind(this.plan.topics, (topic, partition) => reader.readUpTo(topic, partition)),
    );
    await this.until('L3', () =>
      behind(load.topics, (topic, partition) => progress.get(`${topic}-${partition}`) ?? 0),
    );
    await this.until('L3', () => this.churnBehind(load));
    await this.atRest(load);
    this.judge.settled();
    checks.judgeBytes();
    this.supervisor.stop();
    const churners = churnReader ? [churnReader] : [];
    const readers: readonly { stop(): Promise<void> }[] = [
      reader,
      startReader,
      ...churners,
      ...members,
      watcher,
    ];
    await Promise.all(readers.map((one) => one.stop()));
    await Promise.all(writers.map((writer) => writer.close()));
    await this.cluster.stop();
  }

  private async atRest({ writers, members, churnReader }: Load): Promise<void> {
    const { cluster, model, lives } = this;
    const checks = new QuietChecks(cluster, model, lives.managers);
    await this.until('Z6', () => checks.differingImages());
    await this.until('L4', () => checks.pendingChanges());
    // Beside them: the admin, the readers and the watcher.
    const clients = writers.length + members.length + (churnReader ? 1 : 0) + 4;
    await this.until('L6', () => checks.pilesUp(cluster.brokerIds.length + clients));
    checks.judgeCompacted();
  }

  private churnBehind({ churnReader }: Load): string[] {
    const current = this.model.current(CHURN_TOPIC);
    const model = current && this.model.find(current.topicId, 0);
    if (!churnReader || !model) return [];
    const at = churnReader.readUpTo(model);
    return at < model.trueHighWatermark
      ? [`${model.name}: ${at} of ${model.trueHighWatermark}`]
      : [];
  }

  private async until(invariant: string, missing: () => string[]): Promise<void> {
    const { clock } = this.cluster;
    const end = clock.now() + RECOVERY_MS;
    for (let left = missing(); left.length > 0; left = missing()) {
      this.damage.judgeLeaders();
      if (clock.now() >= end) {
        this.violations.report(
          invariant,
          `after ${RECOVERY_MS} ms without faults: ${left.join('; ')}`,
        );
        return;
      }
      await sleep(clock, 100);
    }
  }

  private result(): SeedResult {
    const { cluster, plan, nemesis, judge, options } = this;
    const violation = this.violations.first;
    const { tailLines = 30 } = options;
    const faults = Object.fromEntries(nemesis?.counts ?? []);
    const { acknowledged, read, unknown } = judge.counts;
    return {
      seed: plan.seed,
      violation,
      steps: cluster.clock.steps,
      faults: nemesis?.faults ?? 0,
      simulatedMs: Math.round(cluster.clock.now()),
      coverage: {
        ...this.audit.counts,
        ...this.lives.counts,
        uncleanElections: this.uncleanElections,
        acknowledged,
        read,
        unknown,
        ...faults,
      },
      trace: cluster.trace.digest,
      tail: violation
        ? cluster.logged
            .slice(-tailLines)
            .map(({ atMs, level, text }) => `${atMs.toFixed(1)} ${level} ${text}`)
        : [],
    };
  }
}

function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : 'something that is no Error';
}

interface Load {
  readonly topics: readonly LoadTopic[];
  readonly writers: readonly LoadWriter[];
  readonly reader: PlainReader;
  readonly startReader: StartReader;
  readonly churnReader: ChurnReader | undefined;
  readonly members: readonly GroupMember[];
  readonly watcher: EndWatcher;
  readonly progress: GroupProgress;
}
