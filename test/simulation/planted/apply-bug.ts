/** Applies a planted bug to the text of a source file. Called by load-planted.ts and by the test that keeps the bugs fresh. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import type { PlantedBug } from './planted-bugs';

/** By source file, the text with the bug in it. Throws where a text that is searched for is not found exactly once. */
export function withBug(root: string, { name, edits }: PlantedBug): Map<string, string> {
  const changed = new Map<string, string>();
  for (const { file, search, replace } of edits) {
    const [packageName = '', ...rest] = file.split('/');
    const path = join(root, 'packages', packageName, 'src', `${rest.join('/')}.ts`);
    const before = changed.get(path) ?? readFileSync(path, 'utf8');
    const found = before.split(search).length - 1;
    if (found !== 1) {
      throw new Error(`planted bug ${name}: found ${found} times, not once, in ${file}: ${search}`);
    }
    changed.set(
      path,
      before.replace(search, () => replace),
    );
  }
  return changed;
}

/** As the build would make it. Throws for text that is no TypeScript. */
export function compiled(path: string, text: string): string {
  return transformSync(text, {
    filename: path,
    module: { type: 'commonjs' },
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
  }).code;
}
