/** The whole chain once for real: cluster, load, a kill, healing, verdict, report. */
import type { RunOptions } from './run';
import { runOnce } from './run';
import { renderReport } from './report/report';
import { parseArguments } from './arguments';

test('a leader is killed under load and comes back: nothing is lost, and the page shows it', async () => {
  const command = parseArguments(['kill-leader', '--seconds', '10', '--zookeeper-nodes', '1']);
  if (command.kind !== 'run') throw new Error('no run');
  const options: RunOptions = {
    ...command.options,
    ...{ seconds: 6, recordsPerSecond: 600, partitions: 6, target: 'leader', cut: 'both' },
  };
  const lines: string[] = [];
  const picture = await runOnce(command.scenario, options, (line) => lines.push(line));
  const { result, faults, bands } = picture;
  expect({ clean: result.clean, lines: result.clean ? [] : lines }).toEqual({ clean: true, lines: [] }); // prettier-ignore
  expect(result).toMatchObject({ lost: 0, duplicated: 0, reordered: 0, errors: 0, unknown: 0 });
  expect(result.acked).toBeGreaterThan(1000);
  expect(result.read).toBe(result.acked);
  expect(result.more).toMatchObject({ compactedLost: 0, timeLookupsWrong: 0 });
  expect(faults).toHaveLength(1);
  expect(bands.some((spans) => spans.length > 1)).toBe(true);
  expect(renderReport([picture])).toContain('Every invariant held.');
}, 90_000);
