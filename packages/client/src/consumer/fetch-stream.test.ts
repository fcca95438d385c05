/** A broker that says nothing on a fetch stream, without a broken connection: the stream is cut at a deadline. */
import type { TributaryError } from '@tributary/common';
import type { Connection, FetchDown, FetchUpInput, StreamHandlers } from '@tributary/protocol';
import { SimulatedClock } from '@tributary/testkit';
import { FetchStream } from './fetch-stream';

const TIMEOUT_MS = 3_000;

function opened() {
  const clock = new SimulatedClock();
  const sent: FetchUpInput[] = [];
  const closed: string[] = [];
  const said = (what: string) => (error: TributaryError | undefined) =>
    void closed.push(`${what}: ${error?.code}: ${error?.message}`);
  let handlers: StreamHandlers<FetchDown> | undefined;
  let isCut = false;
  const stream = {
    send: (message: FetchUpInput) => sent.push(message) > 0,
    cut: () => void (isCut = true),
    handle: (given: StreamHandlers<FetchDown>) => void (handlers = given),
  };
  const connection = { open: () => stream } as unknown as Connection;
  const fetch = new FetchStream(connection, {
    ...{ clock, clientId: 'test', brokerId: 2, timeoutMs: TIMEOUT_MS },
    onClosed: said('stream'),
    onReady: () => undefined,
  });
  const receive = (message: object): void => handlers?.onMessage(message);
  const ask = (maxWaitMs: number): void =>
    fetch.send({ maxWaitMs, partitions: [] }, { onResult: () => undefined, onEnd: said('fetch') });
  return { clock, fetch, closed, receive, ask, isCut: () => isCut };
}

const hello = { hello: { version: 1, maxInFlightRequests: 4 } };

test('no hello in time', async () => {
  const { clock, closed, isCut } = opened();
  await clock.advance(TIMEOUT_MS - 1);
  expect(closed).toEqual([]);
  await clock.advance(1);
  expect(closed).toEqual([`stream: TIMEOUT: broker 2 did not answer Hello in ${TIMEOUT_MS} ms`]);
  expect(isCut()).toBe(true);
});

test('no answer within what a fetch may wait, and the time of a request: all that is under way has ended', async () => {
  const { clock, fetch, closed, receive, ask, isCut } = opened();
  receive(hello);
  expect(fetch.ready).toBe(true);
  ask(500);
  ask(9_000);
  await clock.advance(500 + TIMEOUT_MS - 1);
  expect(closed).toEqual([]);
  await clock.advance(1);
  const why = `TIMEOUT: broker 2 did not answer a fetch in ${500 + TIMEOUT_MS} ms`;
  expect(closed).toEqual([`fetch: ${why}`, `fetch: ${why}`, `stream: ${why}`]);
  expect(isCut()).toBe(true);
  expect(clock.pendingTimers).toBe(0);
});

test('an answer in time ends the wait, and the stream goes on', async () => {
  const { clock, closed, receive, ask, isCut } = opened();
  receive(hello);
  ask(500);
  receive({ response: { correlationId: 1, results: [], last: true } });
  await clock.advance(60_000);
  expect(closed).toEqual(['fetch: undefined: undefined']);
  expect(isCut()).toBe(false);
});
