// Makes packages/protocol/src/generated/ from proto/: one TypeScript file per message and one index. Skipped when
// nothing under proto/ is newer. `Foo` is what comes off the wire (every field set), `FooInput` what may be sent.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const protoDir = join(root, 'proto/tributary/v1');
const outDir = join(root, 'packages/protocol/src/generated');
const index = join(outDir, 'index.ts');

const protos = readdirSync(protoDir).filter((name) => name.endsWith('.proto'));
const newest = Math.max(...protos.map((name) => statSync(join(protoDir, name)).mtimeMs));
if (existsSync(index) && statSync(index).mtimeMs > newest) process.exit(0);

rmSync(outDir, { recursive: true, force: true });
const cli = join(root, 'node_modules/@grpc/proto-loader/build/bin/proto-loader-gen-types.js');
execFileSync(
  process.execPath,
  // prettier-ignore
  [cli, '--longs=Number', '--enums=String', '--defaults', '--oneofs', '--includeComments',
    '--grpcLib=@grpc/grpc-js', '--inputTemplate=%sInput', '--outputTemplate=%s',
    `--includeDirs=${join(root, 'proto')}`, `--outDir=${outDir}`,
    ...protos.map((name) => `tributary/v1/${name}`)],
  { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] },
);

const messageDir = join(outDir, 'tributary/v1');
const services = new Set(['Broker', 'Replication', 'Control', 'Group', 'Admin']);
const lines = readdirSync(messageDir)
  .map((name) => name.replace(/\.ts$/, ''))
  .filter((name) => !services.has(name))
  .map((name) =>
    name === 'Error'
      ? "export type { Error as WireError, ErrorInput as WireErrorInput } from './tributary/v1/Error';"
      : `export * from './tributary/v1/${name}';`,
  );
writeFileSync(index, `${lines.join('\n')}\n`);
