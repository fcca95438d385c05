import { TributaryError } from '@tributary/common';
import { codecOf } from './codec';
import { fromWireError, maxErrorTextBytes, toWireError } from './error-mapping';
import type { WireError, WireErrorInput } from './generated';

const codec = codecOf<WireErrorInput, WireError>('Error');

/** As it comes out at the other side. */
function overTheWire(thrown: unknown): TributaryError {
  return fromWireError(codec.decode(codec.encode(toWireError(thrown))));
}

describe('an error on the wire', () => {
  it('keeps code, message, hint, outcome and leader', () => {
    const sent = new TributaryError('NOT_LEADER', 'broker 1 does not lead logs-0', {
      hint: 'Ask broker 2.',
      outcome: 'not written',
      leader: { leaderId: 2, leaderEpoch: 7, host: '127.0.0.1', port: 9293 },
    });
    const received = overTheWire(sent);
    expect(received.toJSON()).toEqual(sent.toJSON());
    expect(received.retriable).toBe(true);
  });

  it('keeps a leader hint without an endpoint, and no leader as -1', () => {
    const leader = { leaderId: -1, leaderEpoch: 3 };
    expect(
      overTheWire(new TributaryError('FENCED_LEADER_EPOCH', 'old', { leader })).leader,
    ).toEqual(leader);
  });

  it.each(['not written', 'maybe written', 'written'] as const)(
    'keeps the outcome %s',
    (outcome) => {
      expect(overTheWire(new TributaryError('TIMEOUT', 'late', { outcome })).outcome).toBe(outcome);
    },
  );

  it('makes INTERNAL of what is not a TributaryError', () => {
    expect(overTheWire(new RangeError('boom'))).toMatchObject({
      code: 'INTERNAL',
      message: 'boom',
    });
  });

  it('takes an unknown code of a newer peer as INTERNAL and names its number', () => {
    const newer = Buffer.concat([
      Buffer.from([0x08, 0xe7, 0x07]),
      Buffer.from([0x12, 2, 0x6e, 0x6f]),
    ]);
    expect(fromWireError(codec.decode(newer))).toMatchObject({
      code: 'INTERNAL',
      message: 'no (error code 999)',
    });
  });

  it('takes an empty Error as INTERNAL', () => {
    expect(fromWireError(codec.decode(Buffer.alloc(0))).code).toBe('INTERNAL');
  });

  it('makes one line of a message that quotes what a client sent', () => {
    const quoting = new TributaryError('UNKNOWN_MEMBER', 'member a\r\n\tb is not known here');
    expect(overTheWire(quoting).message).toBe('member a b is not known here');
  });

  it('cuts a long message and mends a lone surrogate', () => {
    expect(overTheWire(new Error('x'.repeat(10_000))).message).toHaveLength(maxErrorTextBytes + 3);
    expect(overTheWire(new Error('a\ud800b')).message).toBe('a\ufffdb');
  });
});
