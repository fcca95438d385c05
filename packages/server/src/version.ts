/** What this build is, for /version, --version and the first log line. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export function buildVersion(): string {
  const manifest = readFileSync(join(__dirname, '../package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
