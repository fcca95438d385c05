// npm test: installs what is missing, builds, makes sure that a ZooKeeper can be run, then jest. Arguments go to jest.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { bootstrap, build } from './bootstrap.mjs';

const root = join(import.meta.dirname, '..');

bootstrap();
build();

const { locateZooKeeper } = (await import('../packages/cli/dist/index.js')).default;
const zookeeper = await locateZooKeeper({
  cacheDirectory: join(root, '.cache/zookeeper'),
  onProgress: (line) => process.stderr.write(`${line}\n`),
});
if ('unavailable' in zookeeper) {
  process.stderr.write(`the integration tests need ZooKeeper: ${zookeeper.unavailable}\n`);
  process.exit(1);
}

const jest = join(root, 'node_modules/jest/bin/jest.js');
const { status, signal } = spawnSync(process.execPath, [jest, ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(signal ? 1 : (status ?? 1));
