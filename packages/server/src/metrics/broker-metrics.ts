/**
 * The metrics of a broker, named once here: prefix `tributary_`, base units, no partition labels (a broker may
 * have thousands). Values are read from the broker's status when somebody scrapes; nothing is counted twice.
 */
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { BrokerStatus } from '@tributary/broker';
import type { Coordinator } from '@tributary/coordination';
import type { CompactionTotals, DirectoryStatus } from '@tributary/log';
import { buildVersion } from '../version';

export interface MetricsSources {
  /** undefined: not started yet. */
  readonly status: () => BrokerStatus | undefined;
  readonly freeDiskBytes?: () => number;
  readonly logDirectories?: () => readonly DirectoryStatus[];
}

/** Topics beyond this many are summed up under the label `(others)`. */
const MAX_TOPIC_LABELS = 1000;
const OTHERS = '(others)';

export class BrokerMetrics {
  private readonly registry = new Registry();
  private readonly expiries: Counter;

  constructor(private readonly sources: MetricsSources) {
    collectDefaultMetrics({ register: this.registry, prefix: 'tributary_' });
    this.expiries = new Counter({
      name: 'tributary_zookeeper_session_expiries_total',
      help: 'Sessions that ZooKeeper ended because this broker was silent',
      registers: [this.registry],
    });
    this.gauge('build_info', 'Always 1; the version is a label', ['version']).set(
      { version: buildVersion() },
      1,
    );
    this.statusGauges();
    this.replicaGauges();
    if (sources.freeDiskBytes) {
      this.read('disk_free_bytes', 'Room on the disk of the data directory', sources.freeDiskBytes);
    }
    if (sources.logDirectories) this.directoryGauges(sources.logDirectories);
  }

  async text(): Promise<{ readonly contentType: string; readonly text: string }> {
    return { contentType: this.registry.contentType, text: await this.registry.metrics() };
  }

  watchSessions(coordinator: Coordinator): void {
    coordinator.onSession((event) => {
      if (event.type === 'expired') this.expiries.inc();
    });
  }

  private statusGauges(): void {
    const flag = (name: string, help: string, is: (status: BrokerStatus) => boolean): void =>
      this.read(name, help, () => {
        const status = this.sources.status();
        return status && is(status) ? 1 : 0;
      });
    flag('broker_registered', '1 while registered in ZooKeeper', (status) => status.registered);
    flag('broker_ready', '1 while ready', (status) => status.notReadyReasons.length === 0);
    flag('broker_isolated', '1 while acks 0 and 1 are refused', (status) => status.isolated);
    flag(
      'controller_active',
      '1 on the controller; the sum over all brokers must be 1',
      (status) => status.isController,
    );
    flag(
      'zookeeper_connected',
      '1 while the session with ZooKeeper is connected',
      (status) => status.coordinatorStatus === 'connected',
    );
    this.read(
      'controller_epoch',
      'Epoch of the controller that this broker follows',
      () => this.sources.status()?.controllerEpoch ?? 0,
    );
    this.read(
      'metadata_image_sequence',
      'Sequence number of the image in force',
      () => this.sources.status()?.imageSequence ?? 0,
    );
  }

  private replicaGauges(): void {
    const partitions = () => this.sources.status()?.partitions ?? [];
    this.registry.registerMetric(
      new Gauge({
        name: 'tributary_replicas',
        help: 'Replicas on this broker by role',
        labelNames: ['role'],
        registers: [],
        collect() {
          this.reset();
          for (const role of ['leader', 'follower', 'offline']) this.set({ role }, 0);
          for (const { role } of partitions()) this.inc({ role });
        },
      }),
    );
    this.registry.registerMetric(
      new Gauge({
        name: 'tributary_replicas_offline',
        help: 'Replicas on this broker that cannot serve: their disk failed, they are damaged, or they are being refilled',
        labelNames: ['why'],
        registers: [],
        collect() {
          this.reset();
          for (const why of ['failed', 'damaged', 'refilling']) this.set({ why }, 0);
          for (const { outage } of partitions()) if (outage) this.inc({ why: outage });
        },
      }),
    );
    this.registry.registerMetric(
      new Gauge({
        name: 'tributary_topic_committed_records',
        help: 'High watermarks of the partitions that this broker leads, summed by topic',
        labelNames: ['topic'],
        registers: [],
        collect() {
          this.reset();
          const topics = new Set<string>();
          for (const { topic, role, highWatermark } of partitions()) {
            if (role !== 'leader') continue;
            if (topics.size < MAX_TOPIC_LABELS) topics.add(topic);
            this.inc({ topic: topics.has(topic) ? topic : OTHERS }, highWatermark);
          }
        },
      }),
    );
  }

  private directoryGauges(directories: () => readonly DirectoryStatus[]): void {
    const each = (name: string, help: string, value: (one: DirectoryStatus) => number): void => {
      this.registry.registerMetric(
        new Gauge({
          name: `tributary_log_directory_${name}`,
          help,
          labelNames: ['directory'],
          registers: [],
          collect() {
            this.reset();
            for (const one of directories()) this.set({ directory: one.path }, value(one));
          },
        }),
      );
    };
    each('online', '1 while it serves, 0 once its disk failed', ({ failure }) => (failure ? 0 : 1));
    each('free_bytes', 'Room on its disk; 0 while it is offline', ({ freeBytes }) => freeBytes);
    each('replicas', 'Replicas that lie in it', ({ partitions }) => partitions);
    this.compactionCounters(directories);
  }

  private compactionCounters(directories: () => readonly DirectoryStatus[]): void {
    const each = (name: string, help: string, field: keyof CompactionTotals): void => {
      this.registry.registerMetric(
        new Counter({
          name: `tributary_compaction_${name}_total`,
          help,
          labelNames: ['directory'],
          registers: [],
          collect() {
            this.reset();
            for (const { path: directory, compaction } of directories()) {
              this.inc({ directory }, compaction?.[field] ?? 0);
            }
          },
        }),
      );
    };
    each('passes', 'Passes over a log that came to their end', 'passes');
    each('failures', 'Passes that failed: see the log of the broker', 'failures');
    each('dropped_records', 'Records that a later one of their key superseded', 'recordsDropped');
    each('freed_bytes', 'Bytes of segments before less after', 'bytesFreed');
  }

  private gauge(name: string, help: string, labelNames: string[] = []): Gauge {
    return new Gauge({ name: `tributary_${name}`, help, labelNames, registers: [this.registry] });
  }

  private read(name: string, help: string, value: () => number): void {
    const gauge: Gauge = new Gauge({
      name: `tributary_${name}`,
      help,
      registers: [this.registry],
      collect: () => gauge.set(value()),
    });
  }
}
