/**
 * Append with `flush=os`. Ours: what a leader does with a batch from the wire (the whole check, then the append), and
 * what a follower does with one from its leader (which checks in the append). Floor: one CRC pass, one write.
 */
import * as fs from 'node:fs';
import { crc32c, MAX_FUTURE_MS, validateBatch, type BatchLimits } from '@tributary/record';
import type { PartitionLog } from '@tributary/log';
import type { Contest, Repeat } from '../contest';
import type { ScratchDirectory } from '../scratch-directory';
import { BatchRing, LEADER_EPOCH } from './batch-ring';
import { openLog } from './opened-log';

const BYTES_PER_TURN = 16 * 2 ** 20;
const TURNS = 8;
/** First byte that the CRC covers. */
const CRC_FROM = 21;

export function appendContest(
  scratch: ScratchDirectory,
  role: 'leader' | 'follower',
  batchBytes: number,
): Contest {
  const ring = new BatchRing(batchBytes, BYTES_PER_TURN / batchBytes, Date.now());
  const append = role === 'leader' ? checkAndAppendAsLeader : appendAsFollower;
  return {
    kind: `append as ${role}`,
    batchBytes,
    async begin(): Promise<Repeat> {
      const { log, close } = await openLog(scratch.make('log'));
      const descriptor = fs.openSync(`${scratch.make('floor')}/file`, 'w+');
      let position = 0;
      ring.restart();
      return {
        turns: TURNS,
        bytesPerTurn: BYTES_PER_TURN,
        ours() {
          ring.prepare(log.logEndOffset);
          const started = performance.now();
          for (const batch of ring.batches) append(log, batch);
          return performance.now() - started;
        },
        floor() {
          const started = performance.now();
          for (const batch of ring.batches) {
            crc32c(batch.subarray(CRC_FROM));
            position += fs.writeSync(descriptor, batch, 0, batch.length, position);
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

/** As the produce handler does. */
export function checkAndAppendAsLeader(log: PartitionLog, batch: Buffer): void {
  validateBatch(batch, limits());
  log.appendAsLeader(batch, { leaderEpoch: LEADER_EPOCH });
}

function appendAsFollower(log: PartitionLog, batch: Buffer): void {
  log.appendAsFollower(batch);
}

function limits(): BatchLimits {
  return {
    maxBatchBytes: 2 ** 20 + 12,
    maxRecordsPerBatch: 100_000,
    now: Date.now(),
    maxFutureMs: MAX_FUTURE_MS,
  };
}
