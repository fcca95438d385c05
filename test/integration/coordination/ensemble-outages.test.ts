import { setTimeout as pause } from 'node:timers/promises';
import type { SessionEvent } from '@tributary/coordination';
import { TestEnsemble } from '@tributary/testkit';

/**
 * What happens to sessions when servers of the ensemble die, hang, are all away, or lose their data.
 */
const sessionTimeoutMs = 1_200;

describe('outages of the ensemble', () => {
  let ensemble: TestEnsemble | undefined;
  afterEach(() => ensemble?.stop());

  const start = async (nodes: 1 | 3) => {
    ensemble = await TestEnsemble.start({ nodes });
    const harness = ensemble.harness();
    const client = await harness.connect({ sessionTimeoutMs });
    const events: SessionEvent['type'][] = [];
    client.onSession((event) => events.push(event.type));
    await client.create('/ephemeral', Buffer.alloc(0), { ephemeral: true });
    const kept = async () =>
      (await client.get('/ephemeral'))?.stat.ephemeralOwner === client.sessionId;
    return { ensemble, harness, client, events, sessionId: client.sessionId, kept };
  };

  test('three nodes: the leader is killed, all are away for three session times, one hangs; the session and its ephemeral survive it all', async () => {
    const { ensemble: running, harness, client, events, sessionId, kept } = await start(3);
    const { nodes } = running.zooKeeper;

    const leader = await running.zooKeeper.leader();
    await leader!.kill('SIGKILL');
    await client.create('/after-the-leader', Buffer.alloc(0));
    expect(await kept()).toBe(true);
    leader!.start();
    await leader!.waitReady();

    await Promise.all(nodes.map((node) => node.kill('SIGKILL')));
    await harness.until(() => client.status === 'suspended');
    await pause(3 * sessionTimeoutMs);
    expect(client.status).toBe('suspended');
    expect(client.silentForMs).toBeGreaterThan(2 * sessionTimeoutMs);
    for (const node of nodes) node.start();
    await harness.until(() => client.status === 'connected');
    expect(client.sessionId).toBe(sessionId);
    expect(events).not.toContain('expired');
    expect(await kept()).toBe(true);

    // Last, the server that it is on hangs: the session moves to another one.
    const hung = await serverOf(running, client.sessionId!);
    await hung.pause();
    await harness.until(() => client.status === 'suspended');
    await harness.until(() => client.status === 'connected');
    expect(client.sessionId).toBe(sessionId);
    expect(events).not.toContain('expired');
    expect(await kept()).toBe(true);
    await hung.resume();
    await harness.close();
  });

  test('a server that lost its data says that the session is over, and a new one is opened', async () => {
    const { ensemble: running, harness, client, events, sessionId } = await start(1);
    await running.wipe();
    await harness.until(() => events.includes('opened'));
    expect(events).toEqual(['suspended', 'expired', 'opened']);
    expect(client.sessionId).not.toBe(sessionId);
    // The chroot is there again.
    await client.create('/ephemeral', Buffer.alloc(0), { ephemeral: true });
    await harness.close();
  });
});

/** The node whose connection list names the session. */
async function serverOf(ensemble: TestEnsemble, sessionId: string) {
  for (const node of ensemble.zooKeeper.nodes) {
    const connections = await node.fourLetterWord('cons');
    if (connections.includes(`0x${sessionId.replace(/^0+/, '')}`)) return node;
  }
  throw new Error(`no node has session ${sessionId}`);
}
