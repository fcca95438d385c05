import type { ClientHello, ClientHelloInput, ServerHello, ServerHelloInput } from './generated';
import { codecOf } from './codec';
import { answerHello, checkServerHello, clientHello, type Acceptor } from './hello';

const up = codecOf<ClientHelloInput, ClientHello>('ClientHello');
const down = codecOf<ServerHelloInput, ServerHello>('ServerHello');
const self: Acceptor = {
  clusterId: 'logs-of-home',
  brokerId: 2,
  brokerEpoch: 4_294_967_400,
  features: ['structured', 'catch-up'],
  creditBytes: 1_000,
  maxInFlightRequests: 5,
  maxRequestBytes: 2_000,
};

function exchange(hello: ClientHelloInput): ServerHello {
  return down.decode(down.encode(answerHello(up.decode(up.encode(hello)), self)));
}

describe('hello', () => {
  it('settles version, features and credits', () => {
    const answer = exchange(clientHello({ clientId: 'shop', features: ['catch-up', 'newer'] }));
    expect(answer).toEqual({ ...self, version: 1, features: ['catch-up'] });
    expect(checkServerHello(answer)).toBe(answer);
  });

  it('lets a dialer insist on cluster and broker', () => {
    expect(exchange(clientHello({ clusterId: 'logs-of-home', brokerId: 2 })).brokerId).toBe(2);
  });

  it('refuses another cluster', () => {
    expect(() => exchange(clientHello({ clusterId: 'elsewhere' }))).toThrow(
      'the dialer wants cluster elsewhere, broker 2 is of logs-of-home',
    );
  });

  it('refuses a dialer that believes to reach another broker', () => {
    expect(() => exchange(clientHello({ brokerId: 1 }))).toThrow(
      'the dialer wants broker 1, here is broker 2',
    );
  });

  it.each([
    [2, 9],
    [0, 0],
  ])('refuses a dialer that speaks only %d to %d', (minVersion, maxVersion) => {
    expect(() => exchange({ ...clientHello(), minVersion, maxVersion })).toThrow(/protocol/);
  });

  it('takes the best common version of a newer dialer', () => {
    expect(exchange({ ...clientHello(), maxVersion: 9 }).version).toBe(1);
  });

  it('refuses an acceptor that chose what was not offered', () => {
    const answer = { ...exchange(clientHello()), version: 3 };
    expect(() => checkServerHello(answer)).toThrow('broker 2 chose protocol 3');
  });
});
