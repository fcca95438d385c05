/**
 * `meta.properties`: format number of a log directory, its own id, the cluster and the broker that it belongs to.
 * Invariant: a directory of another cluster, broker or format is never touched, nor one whose file has a
 * changed byte (its checksum stands in a comment). The cluster id may come later than the rest, once a
 * coordinator was reached. Called by the log directory.
 */
import { TributaryError } from '@tributary/common';
import { crc32c } from '@tributary/record';
import type { Disk } from './disk';
import { DurableTextFile } from './durable-text-file';

export const META_FILE = 'meta.properties';
const FORMAT = '1';

const CHECKSUM = /^# crc32c=([0-9a-f]{8})$/;

export class MetaProperties {
  private readonly file: DurableTextFile;
  private cluster: string | undefined;
  private id: string | undefined;
  /** There was no such file: nothing ran here before. */
  readonly isNew: boolean;

  private constructor(
    disk: Disk,
    private readonly directory: string,
    private readonly brokerId: number,
  ) {
    this.file = new DurableTextFile(disk, `${directory}/${META_FILE}`);
    const text = this.file.read();
    this.isNew = text === undefined;
    if (text !== undefined) this.parse(text);
  }

  /**
   * @param newId for a directory that has no id yet; undefined: it gets none.
   * Throws UNKNOWN_FORMAT, CORRUPT_LOG, or INVALID_CONFIG for another broker's.
   */
  static async open(
    disk: Disk,
    directory: string,
    brokerId: number,
    newId?: () => string,
  ): Promise<MetaProperties> {
    const meta = new MetaProperties(disk, directory, brokerId);
    const isNamed = meta.id !== undefined || newId === undefined;
    meta.id ??= newId?.();
    if (meta.isNew || !isNamed) await meta.write();
    return meta;
  }

  /** Another one when the disk was replaced. */
  get directoryId(): string | undefined {
    return this.id;
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
    if (this.id !== undefined) lines.push(`directory.id=${this.id}`);
    const text = `${lines.join('\n')}\n`;
    return this.file.write(`# crc32c=${checksumOf(text)}\n${text}`);
  }

  private parse(text: string): void {
    this.check(text);
    const properties = parseProperties(text);
    const version = properties.get('version') ?? this.lacks('version');
    if (version !== FORMAT) {
      throw new TributaryError(
        'UNKNOWN_FORMAT',
        `data directory ${this.directory} has format ${version}, this program knows ${FORMAT}`,
        {
          hint: 'Start the version that wrote it, or give the broker an empty data directory.',
          details: { path: this.file.path },
        },
      );
    }
    const brokerId = properties.get('broker.id') ?? this.lacks('broker.id');
    if (brokerId !== String(this.brokerId)) {
      throw new TributaryError(
        'INVALID_CONFIG',
        `data directory ${this.directory} belongs to broker ${brokerId}, this broker is ${this.brokerId}`,
        {
          hint: 'Correct broker.id, or point the broker to its own data directory.',
          details: { path: this.file.path },
        },
      );
    }
    this.cluster = properties.get('cluster.id');
    this.id = properties.get('directory.id');
  }

  /** Earlier versions wrote no checksum. */
  private check(text: string): void {
    const newline = text.indexOf('\n');
    const [, expected] = CHECKSUM.exec(text.slice(0, newline)) ?? [];
    if (expected === undefined || expected === checksumOf(text.slice(newline + 1))) return;
    throw this.damaged('its checksum does not match');
  }

  /** Every version wrote these lines: an empty or cut file is no other format. */
  private lacks(property: string): never {
    throw this.damaged(`it has no ${property}`);
  }

  private damaged(how: string): TributaryError {
    return new TributaryError('CORRUPT_LOG', `${this.file.path}: ${how}`, {
      hint: 'A byte of it changed: check the disk. It can be written anew from the meta.properties of another log directory.',
      details: { path: this.file.path },
    });
  }
}

function checksumOf(text: string): string {
  return crc32c(Buffer.from(text)).toString(16).padStart(8, '0');
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
