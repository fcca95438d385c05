import { parseArguments, help, type ChaosArguments } from './arguments';
import { scenarios } from './scenarios';

function options(...args: string[]): ChaosArguments {
  const command = parseArguments(args);
  if (command.kind !== 'run') throw new Error('no run');
  return command.options;
}

describe('the command line of the chaos runner', () => {
  test('a scenario alone is enough', () => {
    expect(options('kill-leader')).toMatchObject({
      ...{ seconds: 20, repeat: 1, seed: 1, target: undefined, json: false, zookeeperNodes: 3 },
    });
    expect(options('random')).toMatchObject({ seconds: 120 });
    expect(options('kill-leader', '--repeat', '20')).toMatchObject({ seconds: 16, repeat: 20 });
  });

  test('a run is long enough for its faults: by default, and else it is refused', () => {
    expect(options('pause-leader').seconds).toBe(24);
    expect(options('pause-leader', '--session-timeout-ms', '4000').seconds).toBe(20);
    expect(() => options('pause-leader', '--seconds', '12')).toThrow('from 18 to');
  });

  test('every scenario is named once in --help', () => {
    expect(parseArguments(['--help'])).toEqual({ kind: 'help' });
    for (const { name } of scenarios) {
      expect(
        help()
          .split('\n')
          .filter((line) => line.startsWith(`  ${name} `)),
      ).toHaveLength(1);
    }
  });

  test.each([
    [[], 'name one scenario: kill-leader'],
    [['kill-everything'], 'name one scenario'],
    [['kill-leader', '--target', 'follower'], '--target follower is not one of leader'],
    [['partition-leader', '--from', 'clients'], '--from clients is not one of peers'],
    [['kill-leader', '--zookeeper-nodes', '2'], 'is 1 or 3'],
    [['kill-leader', '--seconds', 'ten'], '--seconds ten is not a whole number'],
    [['kill-leader', '--fast'], "Unknown option '--fast'"],
  ])('%j is refused', (args, message) => {
    expect(() => parseArguments(args)).toThrow(message);
  });
});
