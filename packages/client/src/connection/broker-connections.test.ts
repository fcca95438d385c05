import { TributaryError } from '@tributary/common';
import {
  ClosedStream,
  methods,
  type Address,
  type Connection,
  type Transport,
} from '@tributary/protocol';
import { silentLogger } from '@tributary/common';
import type { BrokerNode } from '../seams';
import { TransportConnections } from './broker-connections';

const unresolvable = new TributaryError('UNRESOLVABLE_ADDRESS', 'Name resolution failed');

/** Remembers what was dialled; nothing can be resolved. */
class DeadEndTransport implements Transport {
  readonly dialled: string[] = [];
  readonly closed: string[] = [];

  connect(address: Address): Connection {
    const name = `${address.host}:${address.port}`;
    this.dialled.push(name);
    return {
      address,
      call: () => Promise.reject(unresolvable),
      open: (method) =>
        new ClosedStream(
          method,
          { name, logger: silentLogger, writeLimitBytes: 1, queueLimitBytes: 1 },
          unresolvable,
        ),
      close: () => void this.closed.push(name),
    };
  }

  listen(): Promise<never> {
    return Promise.reject(new Error('a client does not listen'));
  }

  async close(): Promise<void> {}
}

function broker(brokerId: number, host: string): BrokerNode {
  return { brokerId, brokerEpoch: 1, address: { host, port: 9292 } };
}

describe('connections', () => {
  test('one per address, kept', () => {
    const transport = new DeadEndTransport();
    const connections = new TransportConnections(transport, undefined);
    expect(connections.to(broker(1, 'a'))).toBe(connections.to(broker(1, 'a')));
    connections.to(broker(2, 'b'));
    expect(transport.dialled).toEqual(['a:9292', 'b:9292']);
  });

  test('a broker that moved leaves no connection behind', () => {
    const transport = new DeadEndTransport();
    const connections = new TransportConnections(transport, undefined);
    connections.to(broker(1, 'a'));
    connections.to(broker(1, 'b'));
    expect(transport.closed).toEqual(['a:9292']);
  });

  test('nothing is dialled after the end', () => {
    const transport = new DeadEndTransport();
    const connections = new TransportConnections(transport, undefined);
    connections.to(broker(1, 'a'));
    connections.closeAll();
    expect(transport.closed).toEqual(['a:9292']);
    expect(() => connections.to(broker(1, 'a'))).toThrow('the client is closed');
  });

  test('an advertised host that does not resolve: the broker, the listener and the setting are named', async () => {
    const connections = new TransportConnections(new DeadEndTransport(), 'inside');
    const expected = {
      code: 'UNRESOLVABLE_ADDRESS',
      message:
        'broker 7 advertises kafka7:9292 on listener inside, and kafka7 cannot be resolved here',
      hint: expect.stringContaining('advertised.listeners'),
    };
    const connection = connections.to(broker(7, 'kafka7'));
    await expect(
      connection.call(methods.broker.metadata, {}, { timeoutMs: 1 }),
    ).rejects.toMatchObject(expected);
    const closed = new Promise((resolve) => {
      connection
        .open(methods.broker.produce)
        .handle({ onMessage: () => undefined, onClose: resolve });
    });
    expect(await closed).toMatchObject(expected);
  });

  test('a bootstrap host is the caller’s own: it is told as it is', async () => {
    const connections = new TransportConnections(new DeadEndTransport(), undefined);
    const call = connections
      .to(broker(-1, 'typo'))
      .call(methods.broker.metadata, {}, { timeoutMs: 1 });
    await expect(call).rejects.toBe(unresolvable);
  });
});
