/**
 * Opening a log directory with 1 GiB that was not closed, and whose recovery point is 0. Floor: reading the file once, a
 * mebibyte at a time into one buffer, and one CRC pass. Both find the file in the page cache, where the death of a
 * process leaves it, so that what counts is the work and not the disk.
 */
import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { crc32c } from '@tributary/record';
import type { Contest, Repeat } from '../contest';
import type { ScratchDirectory } from '../scratch-directory';
import { checkAndAppendAsLeader } from './append-contest';
import { BatchRing } from './batch-ring';
import { firstSegment, openLog, TOPIC_ID, openDirectory } from './opened-log';

const LOG_BYTES = 2 ** 30;
const RING_BYTES = 16 * 2 ** 20;
const WINDOW_BYTES = 2 ** 20;

const read = promisify(fs.read);

export function recoveryContest(scratch: ScratchDirectory, batchBytes: number): Contest {
  const written = `recovery-${batchBytes}`;
  let directory: string | undefined;
  return {
    kind: 'recover 1 GiB',
    batchBytes,
    async begin(): Promise<Repeat> {
      directory ??= await writeUnclean(scratch, written, batchBytes);
      const segment = firstSegment(directory);
      const descriptor = fs.openSync(segment, 'r');
      return {
        turns: 1,
        bytesPerTurn: LOG_BYTES,
        ours: () => recover(scratch, directory as string),
        async floor() {
          const window = Buffer.allocUnsafe(WINDOW_BYTES);
          const started = performance.now();
          for (let position = 0; position < LOG_BYTES; position += WINDOW_BYTES) {
            await read(descriptor, window, 0, WINDOW_BYTES, position);
            crc32c(window);
          }
          return performance.now() - started;
        },
        async end() {
          fs.closeSync(descriptor);
        },
      };
    },
    dispose: () => scratch.drop(written),
  };
}

/** As a killed process leaves it: hard links of the open log's files, which then closes without them. */
async function writeUnclean(
  scratch: ScratchDirectory,
  name: string,
  batchBytes: number,
): Promise<string> {
  const alive = scratch.make('log');
  const ring = new BatchRing(batchBytes, RING_BYTES / batchBytes, Date.now());
  const { log, close } = await openLog(alive);
  while (log.sizeBytes < LOG_BYTES) {
    ring.prepare(log.logEndOffset);
    for (const batch of ring.batches) checkAndAppendAsLeader(log, batch);
  }
  const killed = scratch.make(name);
  linkAll(alive, killed);
  await close();
  scratch.drop('log');
  return killed;
}

/** In a copy, made of links, that is thrown away: recovery writes beside the segment. */
async function recover(scratch: ScratchDirectory, killed: string): Promise<number> {
  const directory = scratch.make('recovered');
  linkAll(killed, directory);
  const started = performance.now();
  const store = await openDirectory(directory);
  const elapsedMs = performance.now() - started;
  const bytes = store.get(TOPIC_ID, 0)?.sizeBytes;
  await store.close({ clean: false, brokerEpoch: 1 });
  scratch.drop('recovered');
  if (bytes !== LOG_BYTES) throw new Error(`recovered ${bytes} bytes instead of ${LOG_BYTES}`);
  return elapsedMs;
}

function linkAll(from: string, to: string): void {
  fs.mkdirSync(to, { recursive: true });
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    if (entry.name === '.lock') continue;
    const [source, target] = [`${from}/${entry.name}`, `${to}/${entry.name}`];
    if (entry.isDirectory()) linkAll(source, target);
    else fs.linkSync(source, target);
  }
}
