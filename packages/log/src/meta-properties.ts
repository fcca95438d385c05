/**
 * `meta.properties`: format number of a log directory, the cluster and the broker that it belongs to. Invariant:
 * a directory of another cluster, broker or format is never touched. The cluster id may come later than
 * the rest, once a coordinator was reached. Called by the log directory.
 */
import { TributaryError } from '@tributary/common';
import type { Disk } from './disk';
import { DurableTextFile } from './durable-text-file';

export const META_FILE = 'meta.properties';
const FORMAT = '1';

export class MetaProperties {
  private readonly file: DurableTextFile;
  private cluster: string | undefined;

  private constructor(
    disk: Disk,
    private readonly directory: string,
    private readonly brokerId: number,
  ) {
    this.file = new DurableTextFile(disk, `${directory}/${META_FILE}`);
  }

  /** Throws UNKNOWN_FORMAT, or INVALID_CONFIG for another broker's. */
  static async open(disk: Disk, directory: string, brokerId: number): Promise<MetaProperties> {
    const meta = new MetaProperties(disk, directory, brokerId);
    const text = meta.file.read();
    if (text === undefined) await meta.write();
    else meta.parse(text);
    return meta;
  }

  get clusterId(): string | undefined {
    return this.cluster;
  }

  /** Stores it, or throws CLUSTER_MISMATCH. */
  async confirmCluster(clusterId: string): Promise<void> {
    if (this.cluster === clusterId) return;
    if (this.cluster !== undefined) {
      throw new TributaryError(
        'CLUSTER_MISMATCH',
        `data directory ${this.directory} belongs to cluster ${this.cluster}, the coordinator is that of cluster ${clusterId}`,
        {
          hint: 'Connect to the right ZooKeeper (address and chroot), or give the broker an empty data directory.',
          details: { path: this.directory, stored: this.cluster, clusterId },
        },
      );
    }
    this.cluster = clusterId;
    await this.write();
  }

  private write(): Promise<void> {
    const lines = [`version=${FORMAT}`, `broker.id=${this.brokerId}`];
    if (this.cluster !== undefined) lines.push(`cluster.id=${this.cluster}`);
    return this.file.write(`${lines.join('\n')}\n`);
  }

  private parse(text: string): void {
    const properties = parseProperties(text);
    const version = properties.get('version');
    if (version !== FORMAT) {
      throw new TributaryError(
        'UNKNOWN_FORMAT',
        `data directory ${this.directory} has format ${version ?? '(none)'}, this program knows ${FORMAT}`,
        {
          hint: 'Start the version that wrote it, or give the broker an empty data directory.',
          details: { path: this.file.path },
        },
      );
    }
    const brokerId = properties.get('broker.id');
    if (brokerId !== String(this.brokerId)) {
      throw new TributaryError(
        'INVALID_CONFIG',
        `data directory ${this.directory} belongs to broker ${brokerId ?? '(none)'}, this broker is ${this.brokerId}`,
        {
          hint: 'Correct broker.id, or point the broker to its own data directory.',
          details: { path: this.file.path },
        },
      );
    }
    this.cluster = properties.get('cluster.id');
  }
}

function parseProperties(text: string): Map<string, string> {
  const properties = new Map<string, string>();
  for (const line of text.split('\n')) {
    const equals = line.indexOf('=');
    if (equals <= 0 || line.startsWith('#')) continue;
    properties.set(line.slice(0, equals).trim(), line.slice(equals + 1).trim());
  }
  return properties;
}
