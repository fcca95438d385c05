/**
 * Reads, one batch each. Tail: what was just appended to the open log, at once. Cold: a log that was opened anew and whose
 * file is not in the page cache, through the thread pool. Floor: the same bytes of the same file, by the same call
 * into a new buffer, since whoever asked for them keeps them, and one CRC pass.
 */
import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { crc32c } from '@tributary/record';
import type { Contest, Repeat } from '../contest';
import type { ScratchDirectory } from '../scratch-directory';
import { checkAndAppendAsLeader } from './append-contest';
import { BatchRing } from './batch-ring';
import { firstSegment, openLog } from './opened-log';
import { evict } from './page-cache';

const BYTES_PER_TURN = 16 * 2 ** 20;
const TURNS = 8;
const CRC_FROM = 21;

const read = promisify(fs.read);

export function tailReadContest(scratch: ScratchDirectory, batchBytes: number): Contest {
  const perTurn = BYTES_PER_TURN / batchBytes;
  const ring = new BatchRing(batchBytes, perTurn, Date.now());
  return {
    kind: 'read the tail',
    batchBytes,
    async begin(): Promise<Repeat> {
      const directory = scratch.make('log');
      const { log, close } = await openLog(directory);
      const descriptor = fs.openSync(firstSegment(directory), 'r');
      const appendUpTo = (turn: number): void => {
        if (log.logEndOffset > turn * perTurn * ring.recordsPerBatch) return;
        ring.prepare(log.logEndOffset);
        for (const batch of ring.batches) checkAndAppendAsLeader(log, batch);
      };
      ring.restart();
      return {
        turns: TURNS,
        bytesPerTurn: BYTES_PER_TURN,
        ours(turn) {
          appendUpTo(turn);
          const started = performance.now();
          for (let i = turn * perTurn; i < (turn + 1) * perTurn; i += 1) {
            checkLength(log.read(i * ring.recordsPerBatch, batchBytes, Infinity), batchBytes);
          }
          return performance.now() - started;
        },
        floor(turn) {
          appendUpTo(turn);
          const started = performance.now();
          for (let i = turn * perTurn; i < (turn + 1) * perTurn; i += 1) {
            const bytes = Buffer.allocUnsafe(batchBytes);
            fs.readSync(descriptor, bytes, 0, batchBytes, i * batchBytes);
            crc32c(bytes.subarray(CRC_FROM));
          }
          return performance.now() - started;
        },
        async end() {
          fs.closeSync(descriptor);
          await close();
          scratch.drop('log');
        },
      };
    },
  };
}

export function coldReadContest(scratch: ScratchDirectory, batchBytes: number): Contest {
  const perTurn = BYTES_PER_TURN / batchBytes;
  const ring = new BatchRing(batchBytes, perTurn, Date.now());
  return {
    kind: 'read cold',
    batchBytes,
    async begin(): Promise<Repeat> {
      const directory = scratch.make('log');
      ring.restart();
      const written = await openLog(directory);
      for (let turn = 0; turn < TURNS; turn += 1) {
        ring.prepare(written.log.logEndOffset);
        for (const batch of ring.batches) checkAndAppendAsLeader(written.log, batch);
      }
      await written.close();
      const { log, close } = await openLog(directory);
      const segment = firstSegment(directory);
      const descriptor = fs.openSync(segment, 'r');
      return {
        turns: TURNS,
        bytesPerTurn: BYTES_PER_TURN,
        async ours(turn) {
          await evict(scratch, segment);
          const started = performance.now();
          for (let i = turn * perTurn; i < (turn + 1) * perTurn; i += 1) {
            const offset = i * ring.recordsPerBatch;
            checkLength(await log.readAsync(offset, batchBytes, Infinity), batchBytes);
          }
          return performance.now() - started;
        },
        async floor(turn) {
          await evict(scratch, segment);
          const started = performance.now();
          for (let i = turn * perTurn; i < (turn + 1) * perTurn; i += 1) {
            const bytes = Buffer.allocUnsafe(batchBytes);
            await read(descriptor, bytes, 0, batchBytes, i * batchBytes);
            crc32c(bytes.subarray(CRC_FROM));
          }
          return performance.now() - started;
        },
        async end() {
          fs.closeSync(descriptor);
          await close();
          scratch.drop('log');
        },
      };
    },
  };
}

function checkLength(batch: Buffer, wanted: number): void {
  if (batch.length !== wanted) throw new Error(`read ${batch.length} bytes instead of ${wanted}`);
}
