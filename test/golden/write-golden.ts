/** `npm run golden`: writes the golden files anew. For a change of a format that is meant; the commit says why. */
import { join } from 'node:path';
import { filesOnDisk, writeUnder } from './golden-files';
import { ROOT, newWorld, writeCodecs, writePlain } from './golden-log';

async function main(): Promise<void> {
  for (const [name, write] of [
    ['plain', writePlain],
    ['codecs', writeCodecs],
  ] as const) {
    const world = newWorld();
    await write(world);
    const files = filesOnDisk(world.disk, ROOT);
    writeUnder(join(process.cwd(), 'test/golden', name), files);
    process.stderr.write(`test/golden/${name}: ${files.size} files\n`);
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
  process.exitCode = 1;
});
