/** The command as people and scripts run it: sixty more seeds, none of which the other tests play. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const program = join(__dirname, '..', 'dist', 'simulation', 'main.js');

test('sixty seeds are clean, enough of everything happens in them, and the last line says so', async () => {
  const args = ['--first-seed', '21', '--seeds', '60', '--workers', '1', '--json'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...args]).catch(
    (error: unknown) => {
      throw new Error((error as { stderr?: string }).stderr || String(error));
    },
  );
  const lines = stdout.trimEnd().split('\n');
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({
    ...{ seeds: 60, violations: 0, failingSeeds: [], seconds: expect.any(Number) },
    coverage: { acknowledged: 1, refills: expect.any(Number) },
  });
  expect(stderr).toContain('60 seeds, ');
  expect(stderr).not.toContain('too little coverage');
}, 300_000);
