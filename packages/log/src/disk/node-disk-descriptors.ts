/**
 * How many descriptors this process may have. Called by the composition of a real broker, which gives a part of them to
 * the logs.
 */
import * as fs from 'node:fs';

const LINUX = '/proc/self/limits';

/** undefined: this system does not tell. */
export function descriptorLimit(): number | undefined {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(fs.readFileSync(LINUX, 'utf8'));
    return found ? Number(found[1]) : undefined;
  } catch {
    return undefined;
  }
}
