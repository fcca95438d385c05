import { GatheredWrites } from './gathered-writes';

class Socket {
  readonly destroyed = false;
  readonly sent: string[][] = [];
  private corks = 0;
  private waiting: string[] = [];

  write(request: string): void {
    this.waiting.push(request);
    if (this.corks === 0) this.flush();
  }

  cork(): void {
    this.corks += 1;
  }

  uncork(): void {
    this.corks -= 1;
    if (this.corks === 0) this.flush();
  }

  destroy(): void {}

  private flush(): void {
    if (this.waiting.length > 0) this.sent.push(this.waiting);
    this.waiting = [];
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what one turn asks leaves together, also what its promises ask; the next turn is a write of its own', async () => {
  const writes = new GatheredWrites();
  const socket = new Socket();
  const ask = (request: string): void => {
    writes.gather(socket);
    socket.write(request);
  };
  await nextTurn();
  await Promise.resolve();
  ask('read 1');
  ask('read 2');
  void Promise.resolve()
    .then(() => ask('read 3'))
    .then(() => ask('read 4'));
  expect(socket.sent).toEqual([]);
  await nextTurn();
  expect(socket.sent).toEqual([['read 1', 'read 2', 'read 3', 'read 4']]);
  ask('read 5');
  await nextTurn();
  expect(socket.sent[1]).toEqual(['read 5']);
});

test('a connection that is replaced in the middle of a turn: each is let go', async () => {
  const writes = new GatheredWrites();
  const [before, after] = [new Socket(), new Socket()];
  for (const socket of [before, after, before]) {
    writes.gather(socket);
    socket.write('read');
  }
  writes.gather(undefined);
  await nextTurn();
  expect([before.sent, after.sent]).toEqual([[['read', 'read']], [['read']]]);
});
