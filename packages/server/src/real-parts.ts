/**
 * The parts of a broker in production: system clock, files, gRPC, ZooKeeper. The one place that names them all; called
 * by `run-broker.ts`.
 */
import { systemClock, systemRandom, type Logger } from '@tributary/common';
import { ZooKeeperCoordinator } from '@tributary/coordination';
import { NodeDisk } from '@tributary/log';
import { GrpcTransport } from '@tributary/protocol';
import type { BrokerNodeParts } from './broker-node';
import { formatZooKeeper } from './config/print-config';
import type { BrokerConfig } from './config/settings';
import { openLogs } from './open-logs';
import { SessionTicketFile } from './session-ticket-file';

export function diskParts(config: BrokerConfig, logger: Logger): BrokerNodeParts {
  const clock = systemClock;
  const { brokerId } = config;
  const disk = new NodeDisk();
  const ticketFile = new SessionTicketFile(config.dataDir);
  return {
    clock,
    random: systemRandom,
    logger,
    transport: new GrpcTransport({ logger }),
    openLogs: () =>
      openLogs({
        disk,
        clock,
        random: systemRandom,
        logger,
        brokerId,
        directory: config.dataDir,
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
    saveSessionTicket: (ticket) => (ticket ? ticketFile.write(ticket) : ticketFile.remove()),
    freeDiskBytes: () => disk.freeBytes(config.dataDir),
  };
}
