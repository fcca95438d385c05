/**
 * Reads the JSON of a node field by field. What is missing or has another type is UNKNOWN_FORMAT naming the path: some
 * other program, or a later version, wrote it. Called by layout.ts alone.
 */
import { TributaryError } from '@tributary/common';

export class JsonPayload {
  private constructor(
    readonly path: string,
    private readonly fields: Readonly<Record<string, unknown>>,
  ) {}

  /** @param knownVersion the highest `version` that is understood. */
  static parse(path: string, data: Buffer, knownVersion: number): JsonPayload {
    const payload = new JsonPayload(path, parseObject(path, data));
    const version = Number(payload.fields['version']);
    if (!(version >= 1 && version <= knownVersion)) payload.refuse('version');
    return payload;
  }

  string(field: string): string {
    const value = this.fields[field];
    return typeof value === 'string' ? value : this.refuse(field);
  }

  /** undefined where absent or null. */
  optionalString(field: string): string | undefined {
    return (this.fields[field] ?? undefined) === undefined ? undefined : this.string(field);
  }

  /** A safe integer, also when it is stored as a string, as Kafka does for some. */
  integer(field: string): number {
    const value = this.fields[field];
    const number = typeof value === 'string' ? Number(value) : value;
    return typeof number === 'number' && Number.isSafeInteger(number) ? number : this.refuse(field);
  }

  integers(field: string): number[] {
    return this.list(field).map((value) =>
      typeof value === 'number' && Number.isSafeInteger(value) ? value : this.refuse(field),
    );
  }

  strings(field: string): string[] {
    return this.list(field).map((value) =>
      typeof value === 'string' ? value : this.refuse(field),
    );
  }

  stringMap(field: string): Record<string, string> {
    const entries = this.entries(field).map(([key, value]) =>
      typeof value === 'string' ? ([key, value] as const) : this.refuse(field),
    );
    return Object.fromEntries(entries);
  }

  integerListMap(field: string): [string, number[]][] {
    return this.entries(field).map(([key]) => [key, this.object(field).integers(key)]);
  }

  integerMap(field: string): [string, number][] {
    return this.entries(field).map(([key]) => [key, this.object(field).integer(key)]);
  }

  has(field: string): boolean {
    return (this.fields[field] ?? undefined) !== undefined;
  }

  object(field: string): JsonPayload {
    const value = this.fields[field];
    if (!isObject(value)) return this.refuse(field);
    return new JsonPayload(this.path, value);
  }

  objects(field: string): JsonPayload[] {
    return this.list(field).map((value) =>
      isObject(value) ? new JsonPayload(this.path, value) : this.refuse(field),
    );
  }

  keys(): string[] {
    return Object.keys(this.fields);
  }

  refuse(field: string): never {
    throw unreadable(this.path, `field ${field}`);
  }

  private list(field: string): unknown[] {
    const value = this.fields[field];
    return Array.isArray(value) ? (value as unknown[]) : this.refuse(field);
  }

  private entries(field: string): [string, unknown][] {
    const value = this.fields[field];
    return isObject(value) ? Object.entries(value) : this.refuse(field);
  }
}

export function unreadable(path: string, what: string): TributaryError {
  return new TributaryError('UNKNOWN_FORMAT', `${what} of the node ${path} cannot be understood`, {
    details: { path },
  });
}

function parseObject(path: string, data: Buffer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(data.toString('utf8'));
  } catch {
    throw unreadable(path, 'the JSON'); // the position in the text would not help anybody
  }
  if (!isObject(value)) throw unreadable(path, 'the JSON');
  return value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
