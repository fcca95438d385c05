/**
 * Imported first by whatever runs a broker: V8 flags that must be set before buffers are made. And the size of the
 * thread pool, before it is used: reads and syncs wait in it for their devices, each of which has a share (see
 * node-disk-device.ts), so that one that hangs holds up no other.
 */
import { setFlagsFromString } from 'node:v8';

export const v8Flags: readonly string[] = [
  // Sweeping array buffers on the main thread instead of beside it doubles the rate of streams of large messages.
  '--no-concurrent-array-buffer-sweeping',
  // V8 counts the buffers that were made since the last full collection to the heap, and lets a small, slowly
  // growing heap grow by a few MiB only: with 24 MiB of objects and 32 MiB/s of messages passing through, that is a
  // full collection of 10 to 20 ms every 110 ms, which finds nothing. Up to three times what is alive; V8's own
  // choice is 1.1 to 4 times.
  '--heap-growing-percent=200',
];

// One that this V8 does not know is told on standard error, nothing else.
for (const flag of v8Flags) setFlagsFromString(flag);

process.env.UV_THREADPOOL_SIZE ??= '32';
