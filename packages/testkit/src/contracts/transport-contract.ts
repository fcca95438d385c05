/// <reference types="jest" />
/**
 * What every Transport does, gRPC or simulated: one suite, run on both. A harness brings the machines and lets
 * time pass; everything else goes through the port.
 */
import { TributaryError } from '@tributary/common';
import {
  bidiHandler,
  methods,
  unaryHandler,
  type Address,
  type CallContext,
  type Handler,
  type Listener,
  type MetadataRequest,
  type ProduceDown,
  type ProduceDownInput,
  type ProduceUp,
  type ProduceUpInput,
  type Transport,
} from '@tributary/protocol';
import { recordStream, type RecordedStream } from './recorded-stream';

export interface TransportHarness {
  /** The transport of a machine of its own; closed by the harness at the end. */
  transport(machineName: string): Transport;
  /** Lets time pass until the condition holds; throws when it does not soon. */
  until(condition: () => boolean): Promise<void>;
  /** Messages of the errors that were logged. */
  readonly errorsLogged: readonly string[];
  close(): Promise<void>;
}

type ServerSide = RecordedStream<ProduceDownInput, ProduceUp>;
type ClientSide = RecordedStream<ProduceUpInput, ProduceDown>;

const { produce, metadata, initProducer } = methods.broker;
const up = (correlationId: number, bytes = 0): ProduceUpInput => ({
  request: { correlationId, partitions: [{ batch: Buffer.alloc(bytes) }] },
});
const down = (correlationId: number): ProduceDownInput => ({ response: { correlationId } });
const upNumbers = (side: ServerSide) => side.messages.map((one) => one.request?.correlationId);
const downNumbers = (side: ClientSide) => side.messages.map((one) => one.response?.correlationId);
const errorOf = (work: Promise<unknown>): Promise<TributaryError> =>
  work.then(
    () => {
      throw new Error('did not fail');
    },
    (thrown: unknown) => thrown as TributaryError,
  );

export function describeTransportContract(name: string, makeHarness: () => TransportHarness): void {
  describe(`transport contract: ${name}`, () => {
    let harness: TransportHarness;
    let client: Transport;
    let server: Transport;

    beforeEach(() => {
      harness = makeHarness();
      client = harness.transport('client');
      server = harness.transport('server');
    });
    afterEach(() => harness.close());

    /** The outcome, with time passing meanwhile. */
    const settled = async <T>(work: Promise<T>): Promise<T> => {
      let done = false;
      const mark = (): void => {
        done = true;
      };
      work.then(mark, mark);
      await harness.until(() => done);
      return work;
    };
    const listen = (handlers: Handler[], port = 0): Promise<Listener> =>
      settled(server.listen({ listener: 'inside', host: '127.0.0.1', port, handlers }));

    /** A Produce stream with both sides in hand. */
    const connected = async (onServer: (side: ServerSide) => void = () => undefined) => {
      const accepted: { side: ServerSide; context: CallContext }[] = [];
      const listener = await listen([
        bidiHandler(produce, (stream, context) => {
          const side = recordStream(stream);
          accepted.push({ side, context });
          onServer(side);
        }),
      ]);
      const connection = client.connect(listener.address, 'client');
      const clientSide: ClientSide = recordStream(connection.open(produce));
      await harness.until(() => accepted.length === 1);
      const { side: serverSide, context } = accepted[0]!;
      return { listener, connection, clientSide, serverSide, context };
    };

    const freeAddress = async (): Promise<Address> => {
      const listener = await listen([]);
      await settled(listener.close(0));
      return listener.address;
    };

    describe('calls', () => {
      const ask = (address: Address, timeoutMs = 5_000, signal?: AbortSignal) =>
        client
          .connect(address, 'client')
          .call(metadata, { topics: ['logs'] }, { timeoutMs, signal });

      test('are answered, and the handler sees who asks on which listener', async () => {
        let seen: [MetadataRequest, CallContext] | undefined;
        const { address } = await listen([
          unaryHandler(metadata, async (request, context) => {
            seen = [request, context];
            return { clusterId: 'here', topics: [{ topic: 'logs' }] };
          }),
        ]);
        const answer = await settled(ask(address));
        expect(answer).toMatchObject({
          clusterId: 'here',
          brokers: [],
          topics: [{ topic: 'logs' }],
        });
        expect(seen?.[0].topics).toEqual(['logs']);
        expect(seen?.[1].listener).toBe('inside');
        expect(seen?.[1].peer).not.toBe('');
      });

      test("reject with the handler's own error: code, message, outcome, leader", async () => {
        const refusal = new TributaryError('NOT_LEADER', 'ask broker 2', {
          outcome: 'not written',
          leader: { leaderId: 2, leaderEpoch: 9, host: 'b2', port: 9292 },
        });
        const { address } = await listen([unaryHandler(metadata, () => Promise.reject(refusal))]);
        expect((await settled(errorOf(ask(address)))).toJSON()).toEqual(refusal.toJSON());
        expect(harness.errorsLogged).toEqual([]);
      });

      test('reject with INTERNAL when the handler has a defect, which is logged', async () => {
        const { address } = await listen([
          unaryHandler(metadata, () => {
            throw new RangeError('a defect');
          }),
        ]);
        const error = await settled(errorOf(ask(address)));
        expect(error).toMatchObject({ code: 'INTERNAL', message: 'a defect' });
        expect(harness.errorsLogged).toEqual([`the handler of ${metadata.path} failed`]);
      });

      test('reject with UNSUPPORTED_VERSION when the peer does not know the method', async () => {
        const { address } = await listen([unaryHandler(initProducer, async () => ({}))]);
        expect((await settled(errorOf(ask(address)))).code).toBe('UNSUPPORTED_VERSION');
      });

      test('reject with TIMEOUT at their deadline, and the handler is told', async () => {
        let context: CallContext | undefined;
        const { address } = await listen([
          unaryHandler(metadata, (_request, given) => {
            context = given;
            return new Promise(() => undefined);
          }),
        ]);
        expect((await settled(errorOf(ask(address, 200)))).code).toBe('TIMEOUT');
        await harness.until(() => context!.signal.aborted);
      });

      test('reject with CANCELLED when the caller aborts, and the handler is told', async () => {
        let context: CallContext | undefined;
        const { address } = await listen([
          unaryHandler(metadata, (_request, given) => {
            context = given;
            return new Promise(() => undefined);
          }),
        ]);
        const caller = new AbortController();
        const work = errorOf(ask(address, 5_000, caller.signal));
        await harness.until(() => context !== undefined);
        caller.abort();
        expect((await settled(work)).code).toBe('CANCELLED');
        await harness.until(() => context!.signal.aborted);
        const late = errorOf(ask(address, 5_000, caller.signal));
        expect((await settled(late)).code).toBe('CANCELLED');
      });

      test('to nobody are refused, and the error says so', async () => {
        const error = await settled(errorOf(ask(await freeAddress())));
        expect(error.code).toBe('UNAVAILABLE');
        expect(error.details).toEqual({ refused: true });
      });

      test('reject with CLOSED once their connection is closed here', async () => {
        const { address } = await listen([
          unaryHandler(metadata, () => new Promise(() => undefined)),
        ]);
        const connection = client.connect(address, 'client');
        const options = { timeoutMs: 5_000 };
        const open = errorOf(connection.call(metadata, {}, options));
        connection.close();
        connection.close();
        expect((await settled(open)).code).toBe('CLOSED');
        const late = errorOf(connection.call(metadata, {}, options));
        expect((await settled(late)).code).toBe('CLOSED');
      });
    });

    describe('streams', () => {
      test('carry messages in order, both ways, and end orderly when the dialer ends first', async () => {
        const { clientSide, serverSide, context } = await connected((side) => {
          side.onEnd = () => {
            side.stream.send(down(99));
            side.stream.end();
          };
        });
        for (let number = 0; number < 50; number += 1) {
          expect(clientSide.stream.send(up(number, 1_000))).toBe(true);
          serverSide.stream.send(down(number));
        }
        clientSide.stream.end();
        await harness.until(() => clientSide.closes.length + serverSide.closes.length === 2);
        const numbers = [...Array(50).keys()];
        expect(upNumbers(serverSide)).toEqual(numbers);
        expect(downNumbers(clientSide)).toEqual([...numbers, 99]);
        expect([serverSide.ends, serverSide.closes]).toEqual([1, [undefined]]);
        expect([clientSide.ends, clientSide.closes]).toEqual([1, [undefined]]);
        expect(context.signal.aborted).toBe(true);
      });

      test('let the acceptor speak first', async () => {
        const { clientSide, serverSide } = await connected((side) => side.stream.send(down(1)));
        await harness.until(() => clientSide.messages.length === 1);
        expect(serverSide.messages).toEqual([]);
      });

      test('are over when the acceptor ends', async () => {
        const { clientSide, serverSide } = await connected((side) => {
          side.stream.send(down(1));
          side.stream.end();
        });
        await harness.until(() => clientSide.closes.length + serverSide.closes.length === 2);
        expect(clientSide).toMatchObject({ ends: 1, closes: [undefined] });
        expect(downNumbers(clientSide)).toEqual([1]);
        expect(serverSide.closes).toEqual([undefined]);
        expect(clientSide.stream.closed).toBe(true);
        expect(clientSide.stream.send(up(1))).toBe(false);
      });

      test("cut by the acceptor give the dialer the acceptor's error", async () => {
        const { clientSide, serverSide } = await connected();
        const stale = new TributaryError('FENCED_LEADER_EPOCH', 'epoch 4 is over', {
          leader: { leaderId: 3, leaderEpoch: 5 },
        });
        serverSide.stream.send(down(1));
        serverSide.stream.cut(stale);
        serverSide.stream.cut();
        await harness.until(() => clientSide.closes.length + serverSide.closes.length === 2);
        expect(clientSide.closes[0]?.toJSON()).toEqual(stale.toJSON());
        expect(serverSide.closes).toEqual([stale]);
        expect(serverSide.stream.send(down(2))).toBe(false);
      });

      test('cut without an error are UNAVAILABLE to the peer', async () => {
        const { clientSide, serverSide } = await connected();
        serverSide.stream.cut();
        await harness.until(() => clientSide.closes.length + serverSide.closes.length === 2);
        expect(clientSide.closes[0]?.code).toBe('UNAVAILABLE');
        expect(serverSide.closes[0]?.code).toBe('CANCELLED');
      });

      test('cut by the dialer are UNAVAILABLE to the acceptor', async () => {
        const { clientSide, serverSide, context } = await connected();
        const reason = new TributaryError('CLOSED', 'no more interest');
        clientSide.stream.cut(reason);
        expect(clientSide.closes).toEqual([]);
        await harness.until(() => clientSide.closes.length + serverSide.closes.length === 2);
        expect(clientSide.closes).toEqual([reason]);
        expect(serverSide.closes[0]?.code).toBe('UNAVAILABLE');
        expect(context.signal.aborted).toBe(true);
      });

      test('to nobody are refused, and the connection works once somebody listens', async () => {
        const address = await freeAddress();
        const connection = client.connect(address, 'control');
        const refused: ClientSide = recordStream(connection.open(produce));
        await harness.until(() => refused.closes.length === 1);
        expect(refused.closes[0]).toMatchObject({
          code: 'UNAVAILABLE',
          details: { refused: true },
        });
        const answering = bidiHandler(produce, (stream) => {
          recordStream(stream).stream.send(down(1));
        });
        await listen([answering], address.port);
        let dialed: ClientSide | undefined;
        await harness.until(() => {
          if (!dialed || dialed.closes.length > 0) dialed = recordStream(connection.open(produce));
          return dialed.messages.length === 1;
        });
      });

      test('of a method that the peer does not know close with UNSUPPORTED_VERSION', async () => {
        const { address } = await listen([]);
        const side = recordStream(client.connect(address, 'client').open(methods.broker.fetch));
        await harness.until(() => side.closes.length === 1);
        expect(side.closes[0]?.code).toBe('UNSUPPORTED_VERSION');
      });

      test('close with CLOSED when their connection or transport is closed here', async () => {
        const { connection, clientSide, serverSide } = await connected();
        const other = recordStream(client.connect(connection.address, 'client').open(produce));
        connection.close();
        await harness.until(() => serverSide.closes.length === 1);
        expect(clientSide.closes[0]?.code).toBe('CLOSED');
        expect(serverSide.closes[0]?.code).toBe('UNAVAILABLE');
        const late = recordStream(connection.open(produce));
        await settled(client.close());
        await harness.until(() => late.closes.length + other.closes.length === 2);
        expect([late.closes[0]?.code, other.closes[0]?.code]).toEqual(['CLOSED', 'CLOSED']);
      });
    });

    describe('back-pressure', () => {
      const megabyte = 1_048_576;

      test('stops a sender whose peer does not read, and lets it go on when it does', async () => {
        const { clientSide, serverSide } = await connected((side) => side.stream.pause());
        let sent = 0;
        let more = true;
        while (more) {
          more = clientSide.stream.send(up(sent, megabyte));
          sent += 1;
          expect(sent).toBeLessThan(100);
        }
        expect(serverSide.messages).toEqual([]);
        expect(clientSide.drains).toBe(0);
        serverSide.stream.resume();
        await harness.until(() => clientSide.drains === 1 && serverSide.messages.length === sent);
        expect(upNumbers(serverSide)).toEqual([...Array(sent).keys()]);
        expect(clientSide.stream.send(up(sent))).toBe(true);
      });

      test('works in the other direction too', async () => {
        const { clientSide, serverSide } = await connected();
        clientSide.stream.pause();
        const large: ProduceDownInput = {
          response: { results: [{ topic: 'x'.repeat(megabyte) }] },
        };
        let sent = 1;
        while (serverSide.stream.send(large)) sent += 1;
        expect(sent).toBeLessThan(100);
        clientSide.stream.resume();
        await harness.until(() => serverSide.drains === 1 && clientSide.messages.length === sent);
      });

      test('pause within a message holds back the next one', async () => {
        const { clientSide, serverSide } = await connected((side) => {
          side.onMessage = () => side.stream.pause();
        });
        for (let number = 0; number < 3; number += 1) clientSide.stream.send(up(number));
        for (const count of [1, 2, 3]) {
          await harness.until(() => serverSide.messages.length === count);
          serverSide.stream.resume();
        }
        expect(upNumbers(serverSide)).toEqual([0, 1, 2]);
      });

      test('a paused side still learns at once that its peer cut', async () => {
        const { clientSide, serverSide } = await connected();
        clientSide.stream.pause();
        serverSide.stream.cut(new TributaryError('OVERLOADED', 'too much'));
        await harness.until(() => clientSide.closes.length === 1);
        expect(clientSide.closes[0]?.code).toBe('OVERLOADED');
      });
    });

    describe('defects', () => {
      test('a handler that throws when it gets its stream cuts it with INTERNAL, and is logged', async () => {
        const { address } = await listen([
          bidiHandler(produce, () => {
            throw new RangeError('a defect');
          }),
        ]);
        const side: ClientSide = recordStream(client.connect(address, 'client').open(produce));
        await harness.until(() => side.closes.length === 1);
        expect(side.closes[0]).toMatchObject({ code: 'INTERNAL', message: 'a defect' });
        expect(harness.errorsLogged).toEqual([`the handler of ${produce.path} failed`]);
      });

      test('a handler that does not take its stream cuts it with INTERNAL', async () => {
        const { address } = await listen([bidiHandler(produce, () => undefined)]);
        const side: ClientSide = recordStream(client.connect(address, 'client').open(produce));
        await harness.until(() => side.closes.length === 1);
        expect(side.closes[0]?.code).toBe('INTERNAL');
      });

      test('a defect in onMessage costs that stream only; an expected error is passed on', async () => {
        const { clientSide, serverSide, connection } = await connected((side) => {
          side.onMessage = (message) => {
            if (message.request?.correlationId === 7) throw new RangeError('a defect');
            throw new TributaryError('OVERLOADED', 'not now');
          };
        });
        clientSide.stream.send(up(7));
        await harness.until(() => clientSide.closes.length === 1);
        expect(clientSide.closes[0]?.code).toBe('INTERNAL');
        expect(serverSide.closes[0]?.code).toBe('INTERNAL');
        expect(harness.errorsLogged).toHaveLength(1);

        const next: ClientSide = recordStream(connection.open(produce));
        next.stream.send(up(8));
        await harness.until(() => next.closes.length === 1);
        expect(next.closes[0]).toMatchObject({ code: 'OVERLOADED', message: 'not now' });
        expect(harness.errorsLogged).toHaveLength(1);
      });

      test('bytes that are no such message cut the stream with INVALID_ARGUMENT', async () => {
        const { connection, serverSide } = await connected();
        const asBytes = { ...produce.up, encode: (message: unknown) => message as Buffer };
        const crooked = { ...produce, up: asBytes } as typeof produce;
        const side: ClientSide = recordStream(connection.open(crooked));
        side.stream.send(Buffer.from('garbage') as ProduceUpInput);
        await harness.until(() => side.closes.length === 1);
        expect(side.closes[0]?.code).toBe('INVALID_ARGUMENT');
        expect(serverSide.closes).toEqual([]);
      });
    });

    describe('listeners', () => {
      test('refuse a port in use with ADDRESS_IN_USE, which names it', async () => {
        const { address } = await listen([]);
        const error = await settled(errorOf(listen([], address.port)));
        expect(error.code).toBe('ADDRESS_IN_USE');
        expect(error.message).toContain(`port ${address.port}`);
      });

      test('refuse new calls while they close, let open streams finish, and free the port', async () => {
        const { listener, clientSide, serverSide } = await connected((side) => {
          side.onEnd = () => side.stream.end();
        });
        const closing = listener.close(20_000);
        const late: ClientSide = recordStream(
          client.connect(listener.address, 'client').open(produce),
        );
        await harness.until(() => late.closes.length === 1);
        expect(late.closes[0]?.code).toBe('UNAVAILABLE');
        clientSide.stream.send(up(5));
        clientSide.stream.end();
        await settled(closing);
        expect(upNumbers(serverSide)).toEqual([5]);
        expect(clientSide.closes).toEqual([undefined]);
        await settled(listener.close(0));
        await listen([], listener.address.port);
      });

      test('cut what is still open after the grace', async () => {
        const { listener, clientSide, serverSide } = await connected();
        await settled(listener.close(50));
        await harness.until(() => clientSide.closes.length + serverSide.closes.length === 2);
        expect(clientSide.closes[0]?.code).toBe('UNAVAILABLE');
        expect(serverSide.closes[0]?.code).toBe('UNAVAILABLE');
      });

      test('end with their transport', async () => {
        const { clientSide, listener } = await connected();
        await settled(server.close());
        await harness.until(() => clientSide.closes.length === 1);
        expect(clientSide.closes[0]?.code).toBe('UNAVAILABLE');
        const side: ClientSide = recordStream(
          client.connect(listener.address, 'client').open(produce),
        );
        await harness.until(() => side.closes.length === 1);
        expect(side.closes[0]?.details.refused).toBe(true);
      });
    });
  });
}
