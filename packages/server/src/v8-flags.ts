/**
 * Imported first by the entry points: V8 flags that must be set before buffers are made. Sweeping array
 * buffers on the main thread instead of beside it doubles the rate of streams of large messages.
 */
import { setFlagsFromString } from 'node:v8';

try {
  setFlagsFromString('--no-concurrent-array-buffer-sweeping');
} catch {
  // another V8 that does not know it: slower, nothing else
}
