import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { locateZooKeeper, ZooKeeperEnsemble, type ZooKeeperInstallation } from '@tributary/cli';

/**
 * Getting ZooKeeper and running it, as `trib dev` and all other tests do.
 */
const cacheDirectory = resolve(__dirname, '../../../.cache/zookeeper');

describe('ZooKeeper for development', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'tributary-zookeeper-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const located = async (): Promise<ZooKeeperInstallation> => {
    const found = await locateZooKeeper({ cacheDirectory });
    if ('unavailable' in found) throw new Error(found.unavailable);
    return found;
  };

  test('is found or fetched, and one node serves, restarts with its data, pauses and stops', async () => {
    const installation = await located();
    const ensemble = await ZooKeeperEnsemble.start({ installation, nodes: 1, directory });
    const [node] = ensemble.nodes;
    expect(ensemble.connectString).toBe(`127.0.0.1:${node!.port}`);
    expect(await node!.mode()).toBe('standalone');
    const firstPid = node!.pid!;

    await node!.kill('SIGKILL');
    expect(node!.running).toBe(false);
    node!.start();
    await node!.waitReady();
    expect(node!.pid).not.toBe(firstPid);

    await node!.pause();
    // The signal reaches the threads of a busy process one after another: one may still have answered.
    for (let asked = 0; asked < 5 && (await node!.mode()) !== undefined; asked += 1);
    expect(await node!.mode()).toBeUndefined();
    await node!.resume();
    await node!.waitReady();

    await ensemble.stop();
    expect(node!.running).toBe(false);
    expect(() => process.kill(firstPid, 0)).toThrow('ESRCH');
  });

  test('a ZOOKEEPER_HOME without jars is refused in one line that says what to do', async () => {
    const found = await locateZooKeeper({
      cacheDirectory,
      environment: { ZOOKEEPER_HOME: directory, PATH: process.env['PATH'] },
    });
    expect(found).toEqual({
      unavailable: expect.stringMatching(
        /^ZOOKEEPER_HOME=.* has no lib\/zookeeper-\*\.jar: unpack/,
      ),
    });
  });

  test('without Java it says how to get it, or takes Docker', async () => {
    const found = await locateZooKeeper({ cacheDirectory, environment: { PATH: directory } });
    if ('unavailable' in found) expect(found.unavailable).toContain('apt-get install default-jre');
    else expect(found.kind).toBe('docker');
  });

  test('a node that cannot start says where its log is, and nothing stays behind', async () => {
    const found = await located();
    const broken = { ...found, classpath: ['/nonexistent.jar'] } as ZooKeeperInstallation;
    await expect(
      ZooKeeperEnsemble.start({ installation: broken, nodes: 1, directory }),
    ).rejects.toThrow(/ended early: see .*server\.log/);
  });
});
