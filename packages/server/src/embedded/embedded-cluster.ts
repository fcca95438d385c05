/**
 * Brokers in one process on one in-memory coordinator: nothing to install, real gRPC on loopback, data temporary. A kill
 * is a simulated stop: the broker falls silent, its session is left to expire. Made by `embedded.ts` (trib dev up
 * --embedded) and by the testing package.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TributaryError, type Clock, type Logger, type Random } from '@tributary/common';
import { EmbeddedEnsemble, type Coordinator, type SessionTicket } from '@tributary/coordination';
import type { Disk } from '@tributary/log';
import type { Transport } from '@tributary/protocol';
import { BrokerNode } from '../broker-node';
import { logDirectoriesOf } from '../config/directories';
import { settingsSchema, type BrokerConfig } from '../config/settings';
import { openLogs } from '../open-logs';

export interface EmbeddedClusterOptions {
  /** One per broker, ids are 1, 2, 3 ...; port 0: a free one, kept over its lives. */
  readonly brokers: readonly { readonly port: number; readonly httpPort: number }[];
  readonly clock: Clock;
  readonly random: Random;
  readonly loggerOf: (brokerId: number) => Logger;
  /** A new one for each life of a broker. */
  readonly transportOf: (brokerId: number) => Transport;
  readonly disk: Disk;
  /** Holds one directory per broker. Default: a temporary one, removed by `close`. */
  readonly directory?: string;
  /** Default 10 000. */
  readonly sessionTimeoutMs?: number;
  /** A broker cannot go on. */
  onFatal?(brokerId: number, error: TributaryError): void;
}

export interface EmbeddedBrokerAddress {
  readonly id: number;
  readonly host: string;
  readonly port: number;
  readonly httpPort: number;
  readonly running: boolean;
}

const HOST = '127.0.0.1';

interface Slot {
  readonly id: number;
  port: number;
  httpPort: number;
  node: BrokerNode | undefined;
  coordinator: ReturnType<EmbeddedEnsemble['connect']> | undefined;
  ticket: SessionTicket | undefined;
}

export class EmbeddedCluster {
  private readonly ensemble: EmbeddedEnsemble;
  private readonly slots: readonly Slot[];
  private readonly directory: string;

  private constructor(private readonly options: EmbeddedClusterOptions) {
    const { clock, random } = options;
    this.directory = options.directory ?? mkdtempSync(join(tmpdir(), 'tributary-embedded-'));
    this.ensemble = new EmbeddedEnsemble({ clock, random });
    this.slots = options.brokers.map(({ port, httpPort }, index) => ({
      id: index + 1,
      port,
      httpPort,
      node: undefined,
      coordinator: undefined,
      ticket: undefined,
    }));
  }

  /** Resolves when all brokers have registered; see `ready`. On failure nothing is left. */
  static async start(options: EmbeddedClusterOptions): Promise<EmbeddedCluster> {
    const cluster = new EmbeddedCluster(options);
    try {
      for (const { id } of cluster.slots) await cluster.start(id);
      return cluster;
    } catch (error) {
      await cluster.close();
      throw error;
    }
  }

  get brokers(): readonly EmbeddedBrokerAddress[] {
    return this.slots.map(({ id, port, httpPort, node }) => ({
      id,
      host: HOST,
      port,
      httpPort,
      running: node !== undefined,
    }));
  }

  /** Every broker that runs is ready. */
  get ready(): boolean {
    return this.slots.every(({ node }) => !node || node.health.report().ready);
  }

  /** A session of its own on the coordinator, for clients that find brokers there. */
  connectCoordinator(): Coordinator {
    return this.ensemble.connect(this.sessionOptions);
  }

  /** Does nothing while it runs. */
  async start(id: number): Promise<void> {
    const slot = this.slot(id);
    if (slot.node) return;
    const node = this.makeNode(slot);
    slot.node = node;
    try {
      await node.start();
    } catch (error) {
      slot.node = undefined;
      throw error;
    }
    slot.port = node.status?.listeners[0]?.address.port ?? slot.port;
    slot.httpPort = node.httpPort;
  }

  /** As a crash. */
  async kill(id: number): Promise<void> {
    const slot = this.slot(id);
    const { node, coordinator } = slot;
    slot.node = undefined;
    slot.coordinator = undefined;
    if (coordinator) this.ensemble.abandon(coordinator);
    await node?.kill();
  }

  async close(): Promise<void> {
    const nodes = this.slots.map(({ node }) => node);
    for (const slot of this.slots) slot.node = undefined;
    await Promise.all(nodes.map(async (node) => node?.stop()));
    this.ensemble.halt();
    this.removeTemporary();
  }

  /** Also for a process that ends without `close`. */
  removeTemporary(): void {
    if (this.options.directory !== undefined) return;
    rmSync(this.directory, { recursive: true, force: true });
  }

  private get sessionOptions(): { sessionTimeoutMs: number } {
    return { sessionTimeoutMs: this.options.sessionTimeoutMs ?? 10_000 };
  }

  private makeNode(slot: Slot): BrokerNode {
    const { clock, random, disk } = this.options;
    const logger = this.options.loggerOf(slot.id);
    const dataDir = join(this.directory, `broker-${slot.id}`);
    const config = embeddedConfig(slot, dataDir);
    return new BrokerNode(config, {
      clock,
      random,
      logger,
      transport: this.options.transportOf(slot.id),
      openLogs: (progress) =>
        openLogs({
          ...{ disk, clock, random, logger, progress, dataDir },
          brokerId: slot.id,
          directories: logDirectoriesOf(config),
        }),
      connectCoordinator: () => {
        slot.coordinator = this.ensemble.connect(this.sessionOptions);
        return slot.coordinator;
      },
      previousTicket: () => slot.ticket,
      saveSessionTicket: (ticket) => (slot.ticket = ticket),
      onFatal: (error) => this.options.onFatal?.(slot.id, error),
      freeDiskBytes: () => disk.freeBytes(dataDir),
    });
  }

  private slot(id: number): Slot {
    const slot = this.slots.find((candidate) => candidate.id === id);
    if (slot) return slot;
    throw new TributaryError('UNKNOWN_BROKER', `there is no broker ${id}`, {
      hint: `The brokers are ${this.slots.map((candidate) => candidate.id).join(', ')}.`,
    });
  }
}

function embeddedConfig(slot: Slot, dataDir: string): BrokerConfig {
  return settingsSchema.parse({
    brokerId: String(slot.id),
    dataDir,
    zookeeper: 'embedded:1',
    listeners: `outside://${HOST}:${slot.port}`,
    httpPort: String(slot.httpPort),
  });
}
