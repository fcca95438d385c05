/**
 * All that runs against the cluster during a chaos run: the idempotent load that is measured, with its readers, a group
 * and monitors; a small load with acks=1; a small one on a compacted topic. Each topic has a history of its own.
 */
import { createClient, type Client } from '@tributary/client';
import { History, type WriteAttempt } from '@tributary/testkit';
import { Workload } from '../workload';
import { EndProbes } from './end-probes';
import { GroupMembers } from './group-members';

export const topics = {
  main: 'chaos',
  weak: 'chaos-acks1',
  compacted: 'chaos-compacted',
} as const;

export interface LoadOptions {
  readonly brokers: readonly string[];
  readonly zookeeper: string;
  readonly partitions: number;
  readonly recordsPerSecond: number;
}

const RECORD_BYTES = 100;
const WEAK = { partitions: 3, recordsPerSecond: 120 };
const COMPACTED = { partitions: 2, recordsPerSecond: 200, keys: 25 };
/** Remembered word for word; all are counted. */
const MAX_ERRORS_KEPT = 20;
const CREATE_WITHIN_MS = 60_000;

export class Load {
  readonly main = new History();
  readonly weak = new History();
  readonly compacted = new History();
  /** What an application with acks=all and its readers were told went wrong. */
  errors = 0;
  readonly errorTexts: string[] = [];
  private readonly clients: readonly [Client, Client];
  private readonly workloads: Workload[];
  private readonly members: GroupMembers;
  private readonly probes: EndProbes;
  private ignoring = false;

  constructor(
    private readonly options: LoadOptions,
    onAcknowledged: (write: WriteAttempt, at: number) => void,
  ) {
    const { partitions, recordsPerSecond } = options;
    const throughBrokers = createClient({ brokers: [...options.brokers], clientId: 'chaos' });
    const throughZooKeeper = createClient({ zookeeper: options.zookeeper, clientId: 'chaos-zk' });
    this.clients = [throughBrokers, throughZooKeeper];
    const recordBytes = RECORD_BYTES;
    const onError = (what: string): void => this.failed(what);
    const quiet = (): void => undefined;
    this.workloads = [
      new Workload(throughBrokers, this.main, { topic: topics.main, partitions, recordsPerSecond, recordBytes, onError }, onAcknowledged), // prettier-ignore
      new Workload(throughBrokers, this.weak, { topic: topics.weak, ...WEAK, recordBytes, acks: 'leader' }, quiet), // prettier-ignore
      new Workload(throughZooKeeper, this.compacted, { topic: topics.compacted, ...COMPACTED, recordBytes, onError }, quiet), // prettier-ignore
    ];
    this.members = new GroupMembers([throughZooKeeper, throughBrokers], { topic: topics.main, partitions }, this.main, onError); // prettier-ignore
    this.probes = new EndProbes(throughBrokers, topics.main, partitions, this.main);
  }

  /** Creates the topics. */
  async prepare(): Promise<void> {
    const admin = this.clients[0].admin();
    const timeout = { timeoutMs: CREATE_WITHIN_MS };
    const safe = { 'min.insync.replicas': '2' };
    const { partitions } = this.options;
    const replicationFactor = 3;
    await admin.createTopic({ topic: topics.main, partitions, replicationFactor, configs: safe }, timeout); // prettier-ignore
    await admin.createTopic({ topic: topics.weak, partitions: WEAK.partitions, replicationFactor }, timeout); // prettier-ignore
    const compaction = { 'cleanup.policy': 'compact', 'segment.bytes': '32768', 'min.cleanable.dirty.ratio': '0.1' }; // prettier-ignore
    await admin.createTopic({ topic: topics.compacted, partitions: COMPACTED.partitions, replicationFactor, configs: { ...safe, ...compaction } }, timeout); // prettier-ignore
  }

  /** Records of the measured topic that have no answer yet. */
  get unanswered(): number {
    return this.workloads[0]!.unanswered;
  }

  start(): void {
    for (const workload of this.workloads) workload.start();
    this.members.start();
    this.probes.start();
  }

  /** Every write has its fate when this resolves. */
  async stop(): Promise<void> {
    await this.probes.stop();
    await Promise.all([this.members.stop(), ...this.workloads.map((workload) => workload.stop())]);
  }

  async close(): Promise<void> {
    this.ignoring = true;
    await Promise.all(this.clients.map((client) => client.close()));
  }

  private failed(what: string): void {
    if (this.ignoring) return;
    this.errors += 1;
    if (this.errorTexts.length < MAX_ERRORS_KEPT) this.errorTexts.push(what);
  }
}
