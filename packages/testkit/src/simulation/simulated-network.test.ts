import { seededRandom, silentLogger } from '@tributary/common';
import { bidiHandler, methods, unaryHandler, type Transport } from '@tributary/protocol';
import { recordStream, type RecordedStream } from '../contracts/recorded-stream';
import { describeTransportContract } from '../contracts/transport-contract';
import { SimulatedClock } from './simulated-clock';
import { SimulatedNetwork } from './simulated-network';

describeTransportContract('simulated network', () => {
  const clock = new SimulatedClock();
  const errorsLogged: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => void errorsLogged.push(message) };
  const network = new SimulatedNetwork({ clock, random: seededRandom(7), logger });
  return {
    transport: (machineName) => network.transport(machineName),
    until: async (condition) => {
      if (!(await clock.runUntil(condition, 60_000))) throw new Error('not within a minute');
    },
    errorsLogged,
    close: async () => undefined,
  };
});

describe('the simulated network', () => {
  const { produce, metadata } = methods.broker;
  let clock: SimulatedClock;
  let network: SimulatedNetwork;
  let events: string[];

  beforeEach(() => {
    clock = new SimulatedClock();
    network = new SimulatedNetwork({ clock, random: seededRandom(3) });
    events = [];
  });

  const port = 9_292;
  /** A machine that answers each produce request with its correlation id. */
  const broker = async (name: string): Promise<RecordedStream<unknown, unknown>[]> => {
    const accepted: RecordedStream<unknown, unknown>[] = [];
    await network.transport(name).listen({
      listener: 'inside',
      host: '127.0.0.1',
      port,
      handlers: [
        bidiHandler(produce, (stream) => {
          const record = recordStream(stream);
          accepted.push(record as unknown as RecordedStream<unknown, unknown>);
          record.onMessage = ({ request }) => {
            events.push(`${name} got ${request?.correlationId}`);
            stream.send({ response: { correlationId: request?.correlationId } });
          };
        }),
        unaryHandler(metadata, () => new Promise(() => undefined)),
      ],
    });
    return accepted;
  };
  const dial = (from: Transport, host = '127.0.0.1') =>
    recordStream(from.connect({ host, port }, 'client').open(produce));
  const ask = (correlationId: number) => ({ request: { correlationId } });
  const advance = (ms: number) => clock.advance(ms);

  test('a crash breaks the streams at the peers, and nobody on the machine hears of it', async () => {
    const [client, accepted] = [network.transport('client'), await broker('b1')];
    const side = dial(client);
    side.stream.send(ask(1));
    await advance(10);
    network.crash('b1');
    expect(side.closes).toEqual([]);
    side.stream.send(ask(2));
    await advance(10);
    expect(side.messages).toHaveLength(1);
    expect(side.closes[0]).toMatchObject({ code: 'UNAVAILABLE', details: { refused: false } });
    expect(events).toEqual(['b1 got 1']);
    expect(accepted[0]!.closes).toEqual([]);
    accepted[0]!.stream.cut();
    await advance(10);
    expect(accepted[0]!.closes).toEqual([]);
  });

  test('dials to a machine that crashed are refused, and served after its restart', async () => {
    const client = network.transport('client');
    await broker('b1');
    network.crash('b1');
    const refused = dial(client);
    await advance(10);
    expect(refused.closes[0]?.details).toEqual({ refused: true });
    await broker('b1');
    const served = dial(client, 'b1');
    served.stream.send(ask(5));
    await advance(10);
    expect(served.messages).toMatchObject([{ response: { correlationId: 5 } }]);
  });

  test('a call that a crash interrupts is UNAVAILABLE', async () => {
    const client = network.transport('client');
    await broker('b1');
    const call = client
      .connect({ host: 'b1', port }, 'client')
      .call(metadata, {}, { timeoutMs: 1_000 });
    const outcome = call.catch((error: unknown) => error);
    await advance(10);
    network.crash('b1');
    expect(await clock.settleWithin(outcome, 10)).toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('a short partition delays, and loses nothing', async () => {
    const client = network.transport('client');
    await broker('b1');
    const side = dial(client);
    await advance(10);
    network.partition('client', 'b1');
    for (const number of [1, 2, 3]) side.stream.send(ask(number));
    await advance(4_000);
    expect(events).toEqual([]);
    network.heal('client', 'b1');
    await advance(10_000);
    expect(events).toEqual(['b1 got 1', 'b1 got 2', 'b1 got 3']);
    expect(side.messages).toHaveLength(3);
    expect(side.closes).toEqual([]);
  });

  test('a long partition loses the streams on both sides, and dials time out instead of being refused', async () => {
    const client = network.transport('client');
    const accepted = await broker('b1');
    const side = dial(client);
    await advance(10);
    network.partition('client', 'b1');
    const during = dial(client);
    await advance(network.limits.keepaliveMs);
    for (const one of [side, accepted[0]!, during]) {
      expect(one.closes).toMatchObject([{ code: 'UNAVAILABLE', details: { refused: false } }]);
    }
    network.heal();
    const after = dial(client);
    after.stream.send(ask(9));
    await advance(10);
    expect(after.messages).toHaveLength(1);
  });

  test('one way: what is sent the other way still arrives', async () => {
    const client = network.transport('client');
    await broker('b1');
    const side = dial(client);
    await advance(10);
    network.partition('b1', 'client', { oneWay: true });
    side.stream.send(ask(1));
    await advance(100);
    expect(events).toEqual(['b1 got 1']);
    expect(side.messages).toEqual([]);
  });

  test('a machine has one life at a time', async () => {
    network.transport('b1');
    expect(() => network.transport('b1')).toThrow('b1 lives already');
    network.crash('b1');
    expect(() => network.transport('b1')).not.toThrow();
  });

  test.each([1, 2])('the seed %d gives the same order of events each time', async (seed) => {
    const run = async (): Promise<string[]> => {
      clock = new SimulatedClock();
      network = new SimulatedNetwork({ clock, random: seededRandom(seed) });
      network.setDelay({ minMs: 0, maxMs: 50 });
      events = [];
      await broker('b1');
      const clients = ['c1', 'c2', 'c3'].map((name) => dial(network.transport(name)));
      for (let number = 0; number < 20; number += 1) {
        clients[number % 3]!.stream.send(ask(number));
        await advance(5);
      }
      await advance(1_000);
      return events;
    };
    const first = await run();
    expect(first).toHaveLength(20);
    expect(await run()).toEqual(first);
  });
});
