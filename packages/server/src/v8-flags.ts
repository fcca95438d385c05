/**
 * Imported first by the entry points: V8 flags that must be set before buffers are made. Sweeping array
 * buffers on the main thread instead of beside it doubles the rate of streams of large messages. And the size of the
 * thread pool, before it is used: reads and syncs wait in it for their devices, each of which has a share (see
 * node-disk-device.ts), so that one that hangs holds up no other.
 */
import { setFlagsFromString } from 'node:v8';

try {
  setFlagsFromString('--no-concurrent-array-buffer-sweeping');
} catch {
  // another V8 that does not know it: slower, nothing else
}

process.env.UV_THREADPOOL_SIZE ??= '32';
