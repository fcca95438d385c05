/**
 * Lists of directories in settings. Parsing only; throws plain Errors whose message completes the sentence
 * "SETTING=VALUE ...".
 */
import { resolve } from 'node:path';

/** At most this many: each costs a lock, its own files and its own checkpoints. */
const MAX_DIRECTORIES = 64;

/** Absolute paths. */
export function parseDirectories(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.includes('')) throw new Error('names an empty directory');
  const paths = parts.map((part) => resolve(part));
  if (paths.length > MAX_DIRECTORIES) {
    throw new Error(`names more than ${MAX_DIRECTORIES} directories`);
  }
  for (const [index, path] of paths.entries()) {
    if (paths.indexOf(path) < index) throw new Error(`names ${path} twice`);
    const outer = paths.find((other) => path.startsWith(`${other === '/' ? '' : other}/`));
    if (outer !== undefined && outer !== path) throw new Error(`names ${path} within ${outer}`);
  }
  return paths;
}

/** Where the logs of a broker lie. */
export function logDirectoriesOf(config: {
  readonly dataDir: string;
  readonly logDirs?: readonly string[] | undefined;
}): readonly string[] {
  return config.logDirs ?? [resolve(config.dataDir)];
}
