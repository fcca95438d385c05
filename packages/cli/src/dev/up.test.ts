import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareFolder } from './up';

let directory = '';
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'dev-up-'))));
afterEach(() => rmSync(directory, { recursive: true }));

test('the folder of a cluster is made', () => {
  prepareFolder(join(directory, 'a', 'b'));
  expect(statSync(join(directory, 'a', 'b')).isDirectory()).toBe(true);
});

test('a file in its way is a mistake of the user and no defect', () => {
  const file = join(directory, 'file');
  writeFileSync(file, '');
  for (const wrong of [file, join(file, 'below')]) {
    const prepare = () => prepareFolder(wrong);
    expect(prepare).toThrow(`the folder ${wrong} cannot be used`);
    expect(prepare).toThrow(expect.objectContaining({ code: 'DATA_DIR_NOT_WRITABLE' }) as Error);
  }
});
