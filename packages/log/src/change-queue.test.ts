import { ChangeQueue } from './change-queue';

/** Work that ends when it is told to, and notes when it began and ended. */
class Recorder {
  readonly events: string[] = [];
  private readonly ends = new Map<string, () => void>();

  work(name: string): () => Promise<string> {
    return () => {
      this.events.push(`${name} begins`);
      return new Promise((resolve) => {
        this.ends.set(name, () => {
          this.events.push(`${name} ends`);
          resolve(name);
        });
      });
    };
  }

  async end(name: string): Promise<void> {
    this.ends.get(name)?.();
    await settle();
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('different names go side by side, one name one after another', async () => {
  const queue = new ChangeQueue();
  const recorder = new Recorder();
  const first = queue.beside('a', recorder.work('a1'));
  void queue.beside('b', recorder.work('b'));
  void queue.beside('a', recorder.work('a2'));
  await settle();
  expect(recorder.events).toEqual(['a1 begins', 'b begins']);
  await recorder.end('a1');
  expect(await first).toBe('a1');
  expect(recorder.events).toEqual(['a1 begins', 'b begins', 'a1 ends', 'a2 begins']);
});

test('what goes alone waits for all before it, and all after it wait', async () => {
  const queue = new ChangeQueue();
  const recorder = new Recorder();
  void queue.beside('a', recorder.work('a'));
  void queue.beside('b', recorder.work('b'));
  void queue.exclusive(recorder.work('alone'));
  void queue.beside('c', recorder.work('c'));
  await settle();
  await recorder.end('b');
  expect(recorder.events).toEqual(['a begins', 'b begins', 'b ends']);
  await recorder.end('a');
  await recorder.end('alone');
  expect(recorder.events.slice(-3)).toEqual(['alone begins', 'alone ends', 'c begins']);
});

test('a failure is its caller’s alone', async () => {
  const queue = new ChangeQueue();
  const fails = (): Promise<void> => Promise.reject(new Error('no'));
  await expect(queue.beside('a', fails)).rejects.toThrow('no');
  await expect(queue.exclusive(fails)).rejects.toThrow('no');
  expect(await queue.beside('a', () => Promise.resolve(1))).toBe(1);
});

test('at most 64 at once', async () => {
  const queue = new ChangeQueue();
  const recorder = new Recorder();
  for (let i = 0; i < 100; i += 1) void queue.beside(`${i}`, recorder.work(`${i}`));
  await settle();
  expect(recorder.events).toHaveLength(64);
});
