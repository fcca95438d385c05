/**
 * Append with `flush=sync`: 32 appenders, each of which checks and appends a batch and waits until it is on the device.
 * Floor: group commits of that size: 32 batches, one CRC pass over each, one vectored write, one fdatasync.
 */
import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { crc32c } from '@tributary/record';
import type { Contest, Repeat } from '../contest';
import type { ScratchDirectory } from '../scratch-directory';
import { checkAndAppendAsLeader } from './append-contest';
import { BatchRing } from './batch-ring';
import { openLog } from './opened-log';

const APPENDERS = 32;
const TURNS = 8;
/** So many rounds of all appenders a turn that it is not over at once. */
const BYTES_PER_TURN_MIN = 16 * 2 ** 20;
const CRC_FROM = 21;

const datasync = promisify(fs.fdatasync);

export function syncContest(scratch: ScratchDirectory, batchBytes: number): Contest {
  const rounds = Math.max(1, BYTES_PER_TURN_MIN / (APPENDERS * batchBytes));
  const ring = new BatchRing(batchBytes, APPENDERS * rounds, Date.now());
  const roundOf = (round: number): Buffer[] =>
    ring.batches.slice(round * APPENDERS, (round + 1) * APPENDERS);
  return {
    kind: `${APPENDERS} synced appenders`,
    batchBytes,
    async begin(): Promise<Repeat> {
      const { log, close } = await openLog(scratch.make('log'), { flush: 'sync' });
      const descriptor = fs.openSync(`${scratch.make('floor')}/file`, 'w+');
      let position = 0;
      ring.restart();
      return {
        turns: TURNS,
        bytesPerTurn: ring.batches.length * batchBytes,
        async ours() {
          ring.prepare(log.logEndOffset);
          const waiting = [...ring.batches].reverse();
          const appender = async (): Promise<void> => {
            for (let batch = waiting.pop(); batch; batch = waiting.pop()) {
              checkAndAppendAsLeader(log, batch);
              await log.flush();
            }
          };
          const started = performance.now();
          await Promise.all(Array.from({ length: APPENDERS }, appender));
          return performance.now() - started;
        },
        async floor() {
          const started = performance.now();
          for (let round = 0; round < rounds; round += 1) {
            const group = roundOf(round);
            for (const batch of group) crc32c(batch.subarray(CRC_FROM));
            position += fs.writevSync(descriptor, group, position);
            await datasync(descriptor);
          }
          return performance.now() - started;
        },
        async end() {
          fs.closeSync(descriptor);
          scratch.drop('floor');
          await close();
          scratch.drop('log');
        },
      };
    },
  };
}
