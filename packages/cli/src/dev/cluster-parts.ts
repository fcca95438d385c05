/**
 * Makes the parts of a development cluster from its options: ports, ZooKeeper, brokers (not started yet). Called by
 * DevCluster.
 */
import { join } from 'node:path';
import { TributaryError } from '@tributary/common';
import { BrokerProcess, type ClusterBroker } from './broker-process';
import { describeDeath, describeLogLine } from './cluster-events';
import type { DevClusterOptions } from './cluster-options';
import { EmbeddedProcess } from './embedded-process';
import { canListen, PortReservation } from './port-reservation';
import { locateZooKeeper, ZooKeeperEnsemble } from './zookeeper';

/** Of the project (a checkout, or the one that installed this package): fetched jars are kept there. */
export const zooKeeperCache = join(__dirname, '../../../../.cache/zookeeper');

const HIGHEST_PORT = 65_535;

export interface ClusterPorts {
  readonly grpc: readonly number[];
  readonly http: readonly number[];
  readonly zookeeper: readonly number[];
  readonly reservation: PortReservation;
}

export interface ClusterParts {
  readonly brokers: readonly ClusterBroker[];
  readonly ensemble: ZooKeeperEnsemble | undefined;
  /** Connect string; undefined in an embedded cluster. */
  readonly zookeeper: string | undefined;
}

/** Throws ADDRESS_IN_USE: whoever holds the port might otherwise be taken for the broker that could not start. */
export async function choosePorts(
  options: DevClusterOptions,
  brokers: number,
): Promise<ClusterPorts> {
  await requireFree('gRPC', options.port, brokers, '--port');
  await requireFree('HTTP', options.httpPort, brokers, '--http-port');
  const nodes = options.zookeeperNodes ?? 1;
  const reservation = await PortReservation.take(brokers * 2 + nodes);
  const from = (first: number | undefined, free: readonly number[]): readonly number[] =>
    first ? free.map((_port, index) => first + index) : free;
  return {
    grpc: from(options.port, reservation.ports.slice(0, brokers)),
    http: from(options.httpPort, reservation.ports.slice(brokers, brokers * 2)),
    zookeeper: from(options.zookeeperPort, reservation.ports.slice(brokers * 2)),
    reservation,
  };
}

async function requireFree(
  what: string,
  first: number | undefined,
  count: number,
  flag: string,
): Promise<void> {
  if (!first) return;
  if (first + count - 1 > HIGHEST_PORT) {
    throw new TributaryError('INVALID_ARGUMENT', `there are no ${count} ports from ${first} on`);
  }
  for (let port = first; port < first + count; port += 1) {
    if (await canListen(port)) continue;
    throw new TributaryError('ADDRESS_IN_USE', `${what} port ${port} on 127.0.0.1 is in use`, {
      hint: `Stop the process that holds the port (another cluster?), or choose others with ${flag}.`,
    });
  }
}

export function embeddedCluster(
  options: DevClusterOptions,
  directory: string,
  ports: ClusterPorts,
): ClusterParts {
  const onEvent = options.onEvent ?? (() => undefined);
  const embedded = new EmbeddedProcess({
    directory,
    ports: ports.grpc.map((port, index) => ({ port, httpPort: ports.http[index]! })),
    onLine: (line) => {
      const text = describeLogLine(line);
      if (text) onEvent(text);
    },
    onDeath: (exit, complaint) => onEvent(describeDeath('the embedded cluster', exit, complaint)),
  });
  return { brokers: embedded.brokers, ensemble: undefined, zookeeper: undefined };
}

export async function processCluster(
  options: DevClusterOptions,
  directory: string,
  ports: ClusterPorts,
): Promise<ClusterParts> {
  const onEvent = options.onEvent ?? (() => undefined);
  const ensemble = options.zookeeper
    ? undefined
    : await startEnsemble(options, directory, ports.zookeeper);
  if (ensemble) onEvent(`ZooKeeper serves at ${ensemble.connectString}`);
  const zookeeper = options.zookeeper ?? ensemble?.connectString ?? '';
  const { flags = [], environment = {}, sessionTimeoutMs } = options;
  const timeout = sessionTimeoutMs
    ? ['--zookeeper-session-timeout-ms', String(sessionTimeoutMs)]
    : [];
  const brokers = ports.grpc.map((port, index) => {
    const id = index + 1;
    return new BrokerProcess({
      id,
      port,
      place: options.place?.(id) ?? {},
      httpPort: ports.http[index]!,
      zookeeper,
      directory,
      flags: [
        ...timeout,
        ...(typeof flags === 'function' ? flags(id, { port, zookeeper }) : flags),
      ],
      environment,
      onLine: (line) => {
        const text = describeLogLine(line);
        if (text) onEvent(text);
      },
      onDeath: (exit, complaint) => onEvent(describeDeath(`broker ${id}`, exit, complaint)),
    });
  });
  return { brokers, ensemble, zookeeper };
}

async function startEnsemble(
  options: DevClusterOptions,
  directory: string,
  clientPorts: readonly number[],
): Promise<ZooKeeperEnsemble> {
  let { installation } = options;
  if (!installation) {
    const located = await locateZooKeeper({ cacheDirectory: zooKeeperCache });
    if ('unavailable' in located) {
      throw new TributaryError('UNAVAILABLE', `ZooKeeper cannot be run: ${located.unavailable}`, {
        hint: 'Or use --embedded.',
      });
    }
    installation = located;
  }
  return ZooKeeperEnsemble.start({
    installation,
    nodes: options.zookeeperNodes ?? 1,
    directory: join(directory, 'zookeeper'),
    ...(options.zookeeperHost ? { host: options.zookeeperHost } : {}),
    clientPorts,
    dieWithParent: true,
  });
}
