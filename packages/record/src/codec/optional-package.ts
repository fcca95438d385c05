/**
 * An npm package that a codec needs and that may be absent: not installed, or without a binary for this platform.
 * Invariant: loaded on first use, at most once; a failure is remembered, because whoever sends such batches
 * would make us search the disk for each of them. Called by the codecs.
 */
import { createRequire } from 'node:module';
import { TributaryError } from '@tributary/common';
import type { CodecName } from './codec';

export type Require = (name: string) => unknown;

export interface PackageNeeded {
  readonly codec: CodecName;
  readonly name: string;
  /** The version that is tested; a test compares it with package.json. */
  readonly version: string;
  /** What a person may do instead of installing it. */
  readonly alternative?: string;
}

export class OptionalPackage<Module> {
  private module: Module | undefined;
  private failure: unknown;

  constructor(
    private readonly needed: PackageNeeded,
    private readonly require: Require = createRequire(__filename),
  ) {}

  /** Throws UNSUPPORTED_CODEC with codec, package and the command that installs it. */
  load(): Module {
    if (this.module !== undefined) return this.module;
    if (this.failure === undefined) {
      try {
        this.module = this.require(this.needed.name) as Module;
        return this.module;
      } catch (thrown) {
        this.failure = thrown;
      }
    }
    throw this.missing(this.failure);
  }

  private missing(cause: unknown): TributaryError {
    const { codec, name, version, alternative } = this.needed;
    const { code, message } = cause as NodeJS.ErrnoException;
    const absent = code === 'MODULE_NOT_FOUND' && message.includes(`'${name}'`);
    const reason = absent
      ? 'is not installed'
      : `does not load on ${process.platform}-${process.arch}`;
    const command = `npm install ${name}@${version}`;
    return new TributaryError(
      'UNSUPPORTED_CODEC',
      `codec ${codec} needs the npm package ${name}, which ${reason} here: ${command}`,
      {
        hint: `Run ${command} where the process runs and start it again${alternative ? `, ${alternative}` : ''}, or use another codec.`,
        details: { codec, package: name, command },
        cause,
      },
    );
  }
}
