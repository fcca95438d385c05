/**
 * The parts of a broker in production: system clock, files, gRPC, ZooKeeper. The one place that names them all; called
 * by `run-broker.ts`.
 */
import { systemClock, systemRandom, type Clock, type Logger } from '@tributary/common';
import { ZooKeeperCoordinator } from '@tributary/coordination';
import { descriptorLimit, NodeDisk, type Disk } from '@tributary/log';
import { GrpcTransport } from '@tributary/protocol';
import type { BrokerNodeParts } from './broker-node';
import { logDirectoriesOf } from './config/directories';
import { formatZooKeeper } from './config/print-config';
import type { BrokerConfig } from './config/settings';
import { openFilesPerDirectory } from './open-files';
import { openLogs } from './open-logs';
import { SessionTicketFile } from './session-ticket-file';

/** What chaos runs wrap. */
export interface World {
  readonly clock: Clock;
  readonly disk: Disk;
}

export function diskParts(
  config: BrokerConfig,
  logger: Logger,
  { clock, disk }: World = { clock: systemClock, disk: new NodeDisk() },
): BrokerNodeParts {
  const { brokerId } = config;
  const ticketFile = new SessionTicketFile(config.dataDir);
  return {
    clock,
    random: systemRandom,
    logger,
    transport: new GrpcTransport({ logger }),
    openLogs: (progress) =>
      openLogs({
        ...{ disk, clock, logger, progress, brokerId },
        random: systemRandom,
        dataDir: config.dataDir,
        directories: logDirectoriesOf(config),
        openFilesMax: openFilesPerDirectory(descriptorLimit(), logDirectoriesOf(config).length),
        maintenanceIntervalMs: config.logMaintenanceIntervalMs,
        producerIdExpirationMs: config.producerIdExpirationMs,
        compactionLimits: {
          maxKeyMapBytes: config.logCompactionKeyMapBytes,
          maxCompactionBytesPerSecond: config.logCompactionBytesPerSecond,
          maxInflatedBytes: config.maxInflatedBatchBytes,
        },
      }),
    connectCoordinator: () =>
      ZooKeeperCoordinator.connect({
        connectString: formatZooKeeper(config.zookeeper),
        sessionTimeoutMs: config.zookeeperSessionTimeoutMs,
        clock,
        random: systemRandom,
        logger,
      }),
    previousTicket: () => ticketFile.read(),
    saveSessionTicket: (ticket) => {
      try {
        if (ticket) ticketFile.write(ticket);
        else ticketFile.remove();
      } catch (error) {
        // A hint only, and the disk of the data directory may be the one that failed.
        logger.warn('the session ticket cannot be saved', { error });
      }
    },
    freeDiskBytes: () => disk.freeBytes(config.dataDir),
  };
}
