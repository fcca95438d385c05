/**
 * zstd at level 3. The limit holds before anything is inflated: the sizes of the blocks bound what a frame holds,
 * and where that bound is above the limit although the frame may be below it (many small blocks), it is inflated by
 * prefixes, each of which certainly stays within the limit and one block.
 */
import { inflatesBeyond, joined, notOfCodec, type Codec } from './codec';
import type { Require } from './optional-package';
import { zstdEngine, type EngineLoader, type ZstdEngine } from './zstd-engine';
import { blockSpan, framePrefix, MAX_BLOCK_BYTES, zstdFrames, type ZstdFrame } from './zstd-frame';

/** Each inflates from the beginning, so they are few; what is not clear after them is refused. */
const MAX_PREFIXES = 32;

export function zstdCodec(
  require?: Require,
  loadEngine: EngineLoader = zstdEngine(require),
): Codec {
  return {
    name: 'zstd',
    id: 4,
    load: () => void loadEngine(),
    compress: (bytes) => loadEngine().compress(bytes),
    decompress(bytes, maxBytes) {
      const engine = loadEngine();
      const frames = zstdFrames(bytes);
      const least = frames.reduce((sum, frame) => sum + checkedLeast(frame), 0);
      if (least > maxBytes) throw inflatesBeyond('zstd', maxBytes);
      const parts: Buffer[] = [];
      let size = 0;
      for (const frame of frames) {
        const part = inflateFrame(engine, frame, maxBytes - size);
        if (part === undefined) throw inflatesBeyond('zstd', maxBytes);
        parts.push(part);
        size += part.length;
      }
      return joined(parts);
    },
  };
}

/** What the frame says of itself, unless its blocks show that it lies. */
function checkedLeast({ contentSize, least, most }: ZstdFrame): number {
  if (contentSize === undefined) return least;
  if (contentSize < least || contentSize > most) {
    throw notOfCodec('zstd', `a frame that says it holds ${contentSize} bytes does not`);
  }
  return contentSize;
}

/** undefined: it holds more than `room`. */
function inflateFrame(engine: ZstdEngine, frame: ZstdFrame, room: number): Buffer | undefined {
  if (frame.most > room && !fits(engine, frame, room)) return undefined;
  const whole = inflate(engine, frame.bytes);
  return whole.length > room ? undefined : whole;
}

function fits(engine: ZstdEngine, frame: ZstdFrame, room: number): boolean {
  let known = 0;
  let at = frame.blocksAt;
  for (let i = 0; i < MAX_PREFIXES; i += 1) {
    const budget = room + MAX_BLOCK_BYTES - known;
    const span = blockSpan(frame.bytes, at, frame.windowBytes, budget);
    if (span.finished) return true;
    known = inflate(engine, framePrefix(frame, span)).length;
    if (known > room) return false;
    at = span.end;
  }
  return false;
}

function inflate(engine: ZstdEngine, frame: Buffer): Buffer {
  try {
    return engine.decompress(frame);
  } catch (error) {
    throw notOfCodec('zstd', (error as Error).message, error);
  }
}
