/**
 * `.tributary_running`: says on which boot of the machine a process last had this log directory open, and in which
 * broker epoch. With the clean-shutdown marker it tells how that process ended. Invariant: what it told stays told:
 * a life that never registered passes on what it found, or a machine crash followed by a process crash would look
 * harmless. Never removed; replaced once the directory is open. Called by the log directory.
 */
import { crc32c } from '@tributary/record';
import type { CleanShutdown } from './clean-shutdown-marker';
import type { Disk } from './disk';
import { DurableTextFile } from './durable-text-file';
import type { PreviousStop, StopKind } from './log-store';

export const RUNNING_MARKER_FILE = '.tributary_running';
const VERSION = 0;
const KINDS: readonly string[] = ['clean', 'process', 'machine', 'first'] satisfies StopKind[];

interface RunningLife {
  /** undefined: not known on this system. */
  readonly bootId: string | undefined;
  /** Of this life; undefined: it has not registered. */
  readonly brokerEpoch: number | undefined;
  /** What this life found: passed on until it has registered. */
  readonly found: PreviousStop;
}

export class RunningMarker {
  private readonly path: string;
  private writing: Promise<void> = Promise.resolve();
  private brokerEpoch: number | undefined;

  private constructor(
    private readonly disk: Disk,
    directory: string,
    /** How the process before this one ended. */
    readonly previousStop: PreviousStop,
    private readonly bootId: string | undefined,
  ) {
    this.path = `${directory}/${RUNNING_MARKER_FILE}`;
  }

  /** Reads only: the marker on the disk stays until `write`. @param isNew the directory was made just now. */
  static read(
    disk: Disk,
    directory: string,
    clean: CleanShutdown | undefined,
    isNew: boolean,
  ): RunningMarker {
    const text = new DurableTextFile(disk, `${directory}/${RUNNING_MARKER_FILE}`).read();
    const life = text === undefined ? undefined : parse(text);
    const bootId = disk.bootId();
    const stop: PreviousStop = isNew ? { kind: 'first' } : previousStopOf(life, clean, bootId);
    return new RunningMarker(disk, directory, stop, bootId);
  }

  /** Once the directory is open; again with the epoch once the broker has registered. Writes each time that it is called. */
  write(brokerEpoch = this.brokerEpoch): Promise<void> {
    this.brokerEpoch = brokerEpoch;
    const text = format({ bootId: this.bootId, brokerEpoch, found: this.previousStop });
    const turn = this.writing.then(() => new DurableTextFile(this.disk, this.path).write(text));
    this.writing = turn.catch(() => undefined); // its caller hears of it
    return turn;
  }
}

/** @param life undefined: none is known (an earlier version, or the marker is damaged). */
function previousStopOf(
  life: RunningLife | undefined,
  clean: CleanShutdown | undefined,
  bootId: string | undefined,
): PreviousStop {
  if (clean && clean.brokerEpoch >= 0) return { kind: 'clean', brokerEpoch: clean.brokerEpoch };
  if (!life) return { kind: clean ? 'clean' : 'machine' };
  const isSameBoot = life.bootId !== undefined && life.bootId === bootId;
  const end: StopKind = clean ? 'clean' : isSameBoot ? 'process' : 'machine';
  if (life.brokerEpoch !== undefined) return { kind: end, brokerEpoch: life.brokerEpoch };
  const { kind, brokerEpoch } = life.found;
  return { kind: worse(end, kind), ...(brokerEpoch === undefined ? {} : { brokerEpoch }) };
}

const SEVERITY: Readonly<Record<StopKind, number>> = { first: 0, clean: 1, process: 2, machine: 3 };

export function worse(a: StopKind, b: StopKind): StopKind {
  return SEVERITY[a] >= SEVERITY[b] ? a : b;
}

/** Of several directories of one broker: the worst that happened; a new directory among old ones says nothing. */
export function combineStops(stops: readonly PreviousStop[]): PreviousStop {
  const kind = stops.map((stop) => stop.kind).reduce(worse, 'first');
  const epochs = stops.flatMap(({ brokerEpoch }) => brokerEpoch ?? []);
  return epochs.length > 0 ? { kind, brokerEpoch: Math.max(...epochs) } : { kind };
}

function format(life: RunningLife): string {
  const text = JSON.stringify({ version: VERSION, ...life });
  return `${text}\n${checksumOf(text)}\n`;
}

/** undefined: damaged, or of another version. */
function parse(text: string): RunningLife | undefined {
  const [json = '', checksum, end] = text.split('\n');
  if (checksum !== checksumOf(json) || end !== '') return undefined;
  const { version, bootId, brokerEpoch, found } = JSON.parse(json) as Partial<RunningLife> & {
    readonly version?: number;
  };
  if (version !== VERSION || !found || !KINDS.includes(found.kind)) return undefined;
  return { bootId, brokerEpoch, found };
}

function checksumOf(text: string): string {
  return crc32c(Buffer.from(text)).toString(16).padStart(8, '0');
}
