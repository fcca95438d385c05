import { TributaryError, type ErrorCode, type TributaryErrorOptions } from '@tributary/common';
import { stepSender } from './sender-machine';
import {
  newSender,
  SEQUENCE_MODULUS,
  type SenderEffect,
  type SenderEvent,
  type SenderSettings,
  type SenderState,
} from './sender-state';

const settings: SenderSettings = {
  topic: 't',
  partition: 0,
  idempotent: true,
  maxInFlight: 5,
  deliveryTimeoutMs: 1_000,
};

function error(code: ErrorCode, options: TributaryErrorOptions = {}): TributaryError {
  return new TributaryError(code, code.toLowerCase(), options);
}

/** One sender, driven by hand; what it wants done is written down as short texts. */
class Sender {
  state: SenderState;
  log: string[] = [];

  constructor(changes: Partial<SenderSettings> = {}) {
    this.state = newSender({ ...settings, ...changes });
  }

  on(event: SenderEvent, now = 0): this {
    const { state, effects } = stepSender(this.state, event, now);
    this.state = state;
    this.log.push(...effects.map(text));
    return this;
  }

  add(id: number, records = 10): this {
    return this.on({ type: 'added', batch: { id, records, deadline: 1_000 } });
  }

  /** What was said so far does not matter. */
  quiet(): this {
    this.log = [];
    return this;
  }

  /** Effects since the last look. */
  get said(): string[] {
    return this.log.splice(0);
  }

  /** Knows leader and identity, has these batches in flight, and nothing else to say. */
  static sending(...ids: number[]): Sender {
    const sender = new Sender();
    for (const id of ids) sender.add(id);
    sender.on({ type: 'leaderFound', brokerId: 1, leaderEpoch: 4 });
    sender.on({ type: 'identityGranted', producerId: 7, producerEpoch: 0 });
    sender.log = [];
    return sender;
  }
}

function text(effect: SenderEffect): string {
  switch (effect.type) {
    case 'send': {
      const { stamp, batchId, brokerId, leaderEpoch } = effect;
      const numbers = stamp
        ? ` as ${stamp.producerId}/${stamp.producerEpoch}/${stamp.baseSequence}`
        : '';
      return `send ${batchId} to ${brokerId}@${leaderEpoch}${numbers}`;
    }
    case 'findLeader':
      return 'find leader';
    case 'getIdentity': {
      const { replaces } = effect;
      if (!replaces) return 'get identity';
      return `get identity after ${replaces.producerId}/${replaces.producerEpoch}${replaces.fresh ? ' (fresh)' : ''}`;
    }
    case 'pause':
      return `pause ${effect.attempt}`;
    case 'reportFailure':
      return `report ${effect.error.code}@${effect.leaderEpoch}`;
    case 'split':
      return `split ${effect.batchId}`;
    case 'delivered':
      return `delivered ${effect.batchId} at ${effect.baseOffset}`;
    case 'failed':
      return `failed ${effect.batchId}: ${effect.error.code}, ${effect.error.outcome}`;
  }
}

describe('the sender', () => {
  test('asks for leader and identity once, then sends in order with consecutive sequences', () => {
    const sender = new Sender().add(1, 10).add(2, 5);
    expect(sender.said).toEqual(['get identity', 'find leader']);
    sender.on({ type: 'leaderFound', brokerId: 1, leaderEpoch: 4 });
    expect(sender.said).toEqual([]);
    sender.on({ type: 'identityGranted', producerId: 7, producerEpoch: 0 }).add(3);
    expect(sender.said).toEqual([
      'send 1 to 1@4 as 7/0/0',
      'send 2 to 1@4 as 7/0/10',
      'send 3 to 1@4 as 7/0/15',
    ]);
  });

  test('has at most five in flight', () => {
    const sender = Sender.sending(1, 2, 3, 4, 5, 6, 7);
    expect(sender.state.batches.filter(({ place }) => place === 'in flight')).toHaveLength(5);
    sender.on({ type: 'written', batchId: 1, baseOffset: 0 });
    expect(sender.said).toEqual(['delivered 1 at 0', 'send 6 to 1@4 as 7/0/50']);
  });

  test('after a failure, all come home and go again in order with the same numbers; nothing newer overtakes', () => {
    const sender = Sender.sending(1, 2, 3);
    sender.on({ type: 'lost', batchId: 1, error: error('UNAVAILABLE') }).add(4);
    expect(sender.said).toEqual(['report UNAVAILABLE@4']);
    sender.on({ type: 'refused', batchId: 3, error: error('OUT_OF_ORDER_SEQUENCE') });
    expect(sender.said).toEqual([]);
    sender.on({ type: 'refused', batchId: 2, error: error('OUT_OF_ORDER_SEQUENCE') });
    expect(sender.said).toEqual(['pause 0']);
    sender.on({ type: 'pauseOver' });
    expect(sender.said).toEqual(['find leader']);
    sender.on({ type: 'leaderFound', brokerId: 2, leaderEpoch: 5 });
    expect(sender.said).toEqual([
      'send 1 to 2@5 as 7/0/0',
      'send 2 to 2@5 as 7/0/10',
      'send 3 to 2@5 as 7/0/20',
      'send 4 to 2@5 as 7/0/30',
    ]);
  });

  test('a hint of a newer leader is followed without a pause', () => {
    const sender = Sender.sending(1);
    const leader = { leaderId: 3, leaderEpoch: 5 };
    sender.on({ type: 'refused', batchId: 1, error: error('NOT_LEADER', { leader }) });
    expect(sender.said).toEqual(['report NOT_LEADER@4', 'find leader']);
  });

  test('a hint that is not newer is none', () => {
    const sender = Sender.sending(1);
    const leader = { leaderId: 3, leaderEpoch: 4 };
    sender.on({ type: 'refused', batchId: 1, error: error('NOT_LEADER', { leader }) });
    expect(sender.said).toEqual(['report NOT_LEADER@4', 'pause 0']);
  });

  test('a leader that does not know its epoch yet is asked again; when it does not hear of it, another is looked for', () => {
    const sender = Sender.sending(1);
    const behind = error('UNKNOWN_LEADER_EPOCH', { outcome: 'not written' });
    for (let time = 0; time < 3; time += 1) {
      sender.on({ type: 'refused', batchId: 1, error: behind }).on({ type: 'pauseOver' });
      expect(sender.said).toEqual([`pause ${time}`, 'send 1 to 1@4 as 7/0/0']);
    }
    sender.on({ type: 'refused', batchId: 1, error: behind });
    expect(sender.said).toEqual(['report UNKNOWN_LEADER_EPOCH@4', 'pause 3']);
  });

  test('pauses grow with failures in a row and start anew after a success', () => {
    const sender = Sender.sending(1);
    const refused = error('NOT_ENOUGH_REPLICAS', { outcome: 'not written' });
    sender.on({ type: 'refused', batchId: 1, error: refused }).on({ type: 'pauseOver' });
    expect(sender.said).toEqual(['pause 0', 'send 1 to 1@4 as 7/0/0']);
    sender.on({ type: 'refused', batchId: 1, error: refused }).on({ type: 'pauseOver' });
    expect(sender.said).toEqual(['pause 1', 'send 1 to 1@4 as 7/0/0']);
    sender.on({ type: 'written', batchId: 1, baseOffset: 0 }).add(2);
    sender.on({ type: 'refused', batchId: 2, error: refused });
    expect(sender.said).toEqual(['delivered 1 at 0', 'send 2 to 1@4 as 7/0/10', 'pause 0']);
  });
});

describe('the fate of a batch that expires', () => {
  test('never sent: not written', () => {
    const sender = new Sender().add(1);
    sender.log = [];
    sender.on({ type: 'tick' }, 1_000);
    expect(sender.said).toEqual(['failed 1: TIMEOUT, not written']);
  });

  test('the hint is that of what kept it from being written', () => {
    const sender = Sender.sending(1);
    const without = error('LEADER_NOT_AVAILABLE', { outcome: 'not written' });
    sender.on({ type: 'refused', batchId: 1, error: without });
    const { effects } = stepSender(sender.state, { type: 'tick' }, 1_000);
    expect(effects).toMatchObject([
      { type: 'failed', error: { code: 'TIMEOUT', hint: without.hint, cause: without } },
    ]);
  });

  test('every attempt refused: not written, and the hole in the sequence ends the epoch', () => {
    const sender = Sender.sending(1, 2);
    const refused = error('NOT_ENOUGH_REPLICAS', { outcome: 'not written' });
    sender.on({ type: 'refused', batchId: 1, error: refused });
    sender.on({ type: 'refused', batchId: 2, error: error('OUT_OF_ORDER_SEQUENCE') });
    sender.state = {
      ...sender.state,
      batches: sender.state.batches.map((b) => (b.id === 2 ? { ...b, deadline: 5_000 } : b)),
    };
    sender.quiet();
    sender.on({ type: 'tick' }, 1_000);
    expect(sender.said).toEqual(['failed 1: TIMEOUT, not written']);
    sender.on({ type: 'pauseOver' });
    expect(sender.said).toEqual(['get identity after 7/0']);
    sender.on({ type: 'identityGranted', producerId: 7, producerEpoch: 1 });
    expect(sender.said).toEqual(['send 2 to 1@4 as 7/1/0']);
  });

  test('in flight: maybe written; the answer that comes later keeps the sequence whole', () => {
    const sender = Sender.sending(1);
    sender.on({ type: 'tick' }, 1_000);
    expect(sender.said).toEqual(['failed 1: TIMEOUT, maybe written']);
    sender.on({ type: 'written', batchId: 1, baseOffset: 0 });
    sender.on({ type: 'added', batch: { id: 2, records: 1, deadline: 2_000 } });
    expect(sender.said).toEqual(['send 2 to 1@4 as 7/0/10']);
  });

  test('lost after it expired: the rest is drained, the epoch bumped, sequences start at 0', () => {
    const sender = Sender.sending(1, 2);
    sender.state = {
      ...sender.state,
      batches: sender.state.batches.map((b) => (b.id === 2 ? { ...b, deadline: 5_000 } : b)),
    };
    sender.on({ type: 'tick' }, 1_000);
    expect(sender.said).toEqual(['failed 1: TIMEOUT, maybe written']);
    sender.on({ type: 'lost', batchId: 1, error: error('TIMEOUT') });
    sender.on({ type: 'lost', batchId: 2, error: error('TIMEOUT') });
    sender.on({ type: 'added', batch: { id: 3, records: 4, deadline: 9_000 } });
    expect(sender.said).toEqual(['report TIMEOUT@4', 'pause 0']);
    sender.on({ type: 'pauseOver' });
    sender.on({ type: 'leaderFound', brokerId: 2, leaderEpoch: 5 });
    // Batch 2 may be in the log under these numbers: it goes on under them; batch 3 waits.
    expect(sender.said).toEqual(['find leader', 'send 2 to 2@5 as 7/0/10']);
    sender.on({ type: 'refused', batchId: 2, error: error('OUT_OF_ORDER_SEQUENCE') });
    // It cannot be renumbered: an attempt of it may still be written.
    expect(sender.said).toEqual([
      'failed 2: OUT_OF_ORDER_SEQUENCE, maybe written',
      'get identity after 7/0',
    ]);
    sender.on({ type: 'identityGranted', producerId: 7, producerEpoch: 1 });
    expect(sender.said).toEqual(['send 3 to 2@5 as 7/1/0']);
  });
});

describe('refusals', () => {
  test('a final error fails its batch; those behind it get new numbers under a new epoch', () => {
    const sender = Sender.sending(1, 2);
    const invalid = error('INVALID_TIMESTAMP', { outcome: 'not written' });
    sender.on({ type: 'refused', batchId: 1, error: invalid });
    sender.on({ type: 'refused', batchId: 2, error: error('OUT_OF_ORDER_SEQUENCE') });
    expect(sender.said).toEqual(['failed 1: INVALID_TIMESTAMP, not written', 'pause 0']);
    sender.on({ type: 'pauseOver' });
    expect(sender.said).toEqual(['get identity after 7/0']);
    sender.on({ type: 'identityGranted', producerId: 7, producerEpoch: 1 });
    expect(sender.said).toEqual(['send 2 to 1@4 as 7/1/0']);
  });

  test('a producer that the broker has forgotten takes a fresh id', () => {
    const sender = Sender.sending(1);
    sender.on({ type: 'refused', batchId: 1, error: error('UNKNOWN_PRODUCER_ID') });
    sender.on({ type: 'pauseOver' });
    expect(sender.said).toEqual(['pause 0', 'get identity after 7/0 (fresh)']);
  });

  test('what may be written is never numbered anew', () => {
    const sender = Sender.sending(1);
    sender.on({ type: 'lost', batchId: 1, error: error('UNAVAILABLE') });
    sender.on({ type: 'pauseOver' }).on({ type: 'leaderFound', brokerId: 2, leaderEpoch: 5 });
    sender.quiet();
    sender.on({ type: 'refused', batchId: 1, error: error('UNKNOWN_PRODUCER_ID') });
    expect(sender.said).toEqual(['failed 1: UNKNOWN_PRODUCER_ID, maybe written']);
  });

  test('numbering anew ends after three times', () => {
    const sender = Sender.sending(1);
    for (let epoch = 1; epoch <= 3; epoch += 1) {
      sender.on({ type: 'refused', batchId: 1, error: error('OUT_OF_ORDER_SEQUENCE') });
      sender.on({ type: 'pauseOver' });
      sender.on({ type: 'identityGranted', producerId: 7, producerEpoch: epoch });
    }
    sender.quiet();
    sender.on({ type: 'refused', batchId: 1, error: error('OUT_OF_ORDER_SEQUENCE') });
    expect(sender.said).toEqual(['failed 1: OUT_OF_ORDER_SEQUENCE, not written']);
  });

  test('a batch that is too large is split; its halves keep its place and its numbers', () => {
    const sender = Sender.sending(1, 2);
    sender.on({ type: 'refused', batchId: 1, error: error('BATCH_TOO_LARGE') });
    expect(sender.said).toEqual(['split 1']);
    const into = [
      { id: 11, records: 6, deadline: 1_000 },
      { id: 12, records: 4, deadline: 1_000 },
    ];
    sender.on({ type: 'split', batchId: 1, into });
    sender.on({ type: 'refused', batchId: 2, error: error('OUT_OF_ORDER_SEQUENCE') });
    sender.on({ type: 'pauseOver' });
    expect(sender.said).toEqual([
      'pause 0',
      'send 11 to 1@4 as 7/0/0',
      'send 12 to 1@4 as 7/0/6',
      'send 2 to 1@4 as 7/0/10',
    ]);
  });

  test('one record that is too large fails', () => {
    const sender = new Sender().add(1, 1);
    sender.on({ type: 'leaderFound', brokerId: 1, leaderEpoch: 4 });
    sender.on({ type: 'identityGranted', producerId: 7, producerEpoch: 0 });
    sender.quiet();
    sender.on({ type: 'refused', batchId: 1, error: error('BATCH_TOO_LARGE') });
    expect(sender.said).toEqual(['failed 1: BATCH_TOO_LARGE, not written']);
  });

  test('written, but not by enough replicas: sent again, and never called not written', () => {
    const sender = Sender.sending(1);
    const after = error('NOT_ENOUGH_REPLICAS_AFTER_APPEND');
    sender.on({ type: 'refused', batchId: 1, error: after });
    expect(sender.said).toEqual(['pause 0']);
    sender.on({ type: 'tick' }, 1_000);
    expect(sender.said).toEqual(['failed 1: TIMEOUT, maybe written']);
  });

  test('a broker whose address does not resolve, or that ends its stream for good, is tried five times', () => {
    const sender = Sender.sending(1);
    const unresolvable = error('UNRESOLVABLE_ADDRESS');
    for (let attempt = 0; attempt < 5; attempt += 1) {
      sender.on({ type: 'unsent', batchId: 1, error: unresolvable });
      expect(sender.said).toContain(`pause ${attempt}`);
      sender.on({ type: 'pauseOver' }).on({ type: 'leaderFound', brokerId: 1, leaderEpoch: 4 });
    }
    sender.quiet();
    sender.on({ type: 'unsent', batchId: 1, error: unresolvable });
    expect(sender.said).toEqual(['failed 1: UNRESOLVABLE_ADDRESS, not written']);
  });

  test('not idempotent: no numbers, no identity, the same order of retries', () => {
    const sender = new Sender({ idempotent: false }).add(1).add(2);
    expect(sender.said).toEqual(['find leader']);
    sender.on({ type: 'leaderFound', brokerId: 1, leaderEpoch: 4 });
    expect(sender.said).toEqual(['send 1 to 1@4', 'send 2 to 1@4']);
    sender.on({ type: 'lost', batchId: 1, error: error('UNAVAILABLE') });
    sender.on({ type: 'lost', batchId: 2, error: error('UNAVAILABLE') });
    sender.on({ type: 'pauseOver' }).on({ type: 'leaderFound', brokerId: 1, leaderEpoch: 4 });
    expect(sender.said.slice(-2)).toEqual(['send 1 to 1@4', 'send 2 to 1@4']);
  });

  test('sequences start again at 0 after 2^31 - 1', () => {
    const sender = Sender.sending(1);
    const { identity } = sender.state;
    if (identity.kind !== 'held') throw new Error('no identity');
    sender.state = {
      ...sender.state,
      identity: { ...identity, nextSequence: SEQUENCE_MODULUS - 3 },
    };
    sender.add(2, 10).add(3, 1);
    expect(sender.said).toEqual([
      `send 2 to 1@4 as 7/0/${SEQUENCE_MODULUS - 3}`,
      'send 3 to 1@4 as 7/0/7',
    ]);
  });
});

describe('the end', () => {
  test('what never left is not written, what is in flight may be', () => {
    const sender = Sender.sending(1, 2, 3, 4, 5, 6);
    sender.on({ type: 'ended', error: error('TOPIC_ID_MISMATCH') });
    expect(sender.said).toEqual([
      ...[1, 2, 3, 4, 5].map((id) => `failed ${id}: TOPIC_ID_MISMATCH, maybe written`),
      'failed 6: TOPIC_ID_MISMATCH, not written',
    ]);
    expect(sender.add(7).said).toEqual(['failed 7: TOPIC_ID_MISMATCH, not written']);
  });
});

/** What a sender is up to: derived from its state, for the table below. */
type Situation =
  | 'empty'
  | 'asking'
  | 'sending'
  | 'homing'
  | 'pausing'
  | 'splitting'
  | 'draining'
  | 'renewing'
  | 'ended';

function situation(state: SenderState): Situation {
  const { batches, identity, leader, recovery } = state;
  if (state.ended) return 'ended';
  if (batches.length === 0 && recovery === 'none') return 'empty';
  if (batches.some(({ place }) => place === 'splitting')) return 'splitting';
  if (recovery !== 'none') return recovery;
  if (identity.kind === 'spent') return 'draining';
  if (identity.kind === 'asked' && identity.replaces) return 'renewing';
  if (identity.kind === 'asked' || leader.kind === 'asked') return 'asking';
  return 'sending';
}

const inSituation: Record<Situation, () => SenderState> = {
  empty: () => new Sender().state,
  asking: () => new Sender().add(1).state,
  sending: () => Sender.sending(1, 2).state,
  homing: () =>
    Sender.sending(1, 2).on({ type: 'unsent', batchId: 1, error: error('UNAVAILABLE') }).state,
  pausing: () =>
    Sender.sending(1).on({ type: 'unsent', batchId: 1, error: error('UNAVAILABLE') }).state,
  splitting: () =>
    Sender.sending(1, 2).on({ type: 'refused', batchId: 1, error: error('BATCH_TOO_LARGE') }).state,
  draining: () =>
    Sender.sending(1, 2).on({ type: 'refused', batchId: 1, error: error('INVALID_TIMESTAMP') })
      .state,
  renewing: () =>
    Sender.sending(1)
      .on({ type: 'refused', batchId: 1, error: error('OUT_OF_ORDER_SEQUENCE') })
      .on({ type: 'pauseOver' }).state,
  ended: () => new Sender().on({ type: 'ended', error: error('CLOSED') }).state,
};

const events: Record<SenderEvent['type'], SenderEvent> = {
  added: { type: 'added', batch: { id: 99, records: 1, deadline: 9_000 } },
  leaderFound: { type: 'leaderFound', brokerId: 1, leaderEpoch: 4 },
  leaderMissing: { type: 'leaderMissing', error: error('LEADER_NOT_AVAILABLE') },
  identityGranted: { type: 'identityGranted', producerId: 8, producerEpoch: 0 },
  identityMissing: { type: 'identityMissing', error: error('UNAVAILABLE') },
  written: { type: 'written', batchId: 1, baseOffset: 0 },
  refused: { type: 'refused', batchId: 1, error: error('NOT_ENOUGH_REPLICAS') },
  lost: { type: 'lost', batchId: 1, error: error('UNAVAILABLE') },
  unsent: { type: 'unsent', batchId: 1, error: error('UNAVAILABLE') },
  split: { type: 'split', batchId: 1, into: [{ id: 50, records: 10, deadline: 1_000 }] },
  pauseOver: { type: 'pauseOver' },
  tick: { type: 'tick' },
  ended: { type: 'ended', error: error('CLOSED') },
};

/** Total: the compiler finds a forgotten case. '.' means: nothing changes. */
const table: Record<Situation, Record<SenderEvent['type'], Situation | '.'>> = {
  empty: { added: 'asking', leaderFound: '.', leaderMissing: '.', identityGranted: '.', identityMissing: '.', written: '.', refused: '.', lost: '.', unsent: '.', split: '.', pauseOver: '.', tick: '.', ended: 'ended' },
  asking: { added: '.', leaderFound: '.', leaderMissing: 'pausing', identityGranted: '.', identityMissing: 'pausing', written: '.', refused: '.', lost: '.', unsent: '.', split: '.', pauseOver: '.', tick: '.', ended: 'ended' },
  sending: { added: '.', leaderFound: '.', leaderMissing: '.', identityGranted: '.', identityMissing: '.', written: '.', refused: 'homing', lost: 'homing', unsent: 'homing', split: '.', pauseOver: '.', tick: '.', ended: 'ended' },
  homing: { added: '.', leaderFound: '.', leaderMissing: '.', identityGranted: '.', identityMissing: '.', written: '.', refused: '.', lost: '.', unsent: '.', split: '.', pauseOver: '.', tick: '.', ended: 'ended' },
  pausing: { added: '.', leaderFound: '.', leaderMissing: '.', identityGranted: '.', identityMissing: '.', written: '.', refused: '.', lost: '.', unsent: '.', split: '.', pauseOver: 'asking', tick: '.', ended: 'ended' },
  splitting: { added: '.', leaderFound: '.', leaderMissing: '.', identityGranted: '.', identityMissing: '.', written: '.', refused: '.', lost: '.', unsent: '.', split: 'homing', pauseOver: '.', tick: '.', ended: 'ended' },
  draining: { added: '.', leaderFound: '.', leaderMissing: '.', identityGranted: '.', identityMissing: '.', written: '.', refused: '.', lost: '.', unsent: '.', split: '.', pauseOver: '.', tick: '.', ended: 'ended' },
  renewing: { added: '.', leaderFound: '.', leaderMissing: '.', identityGranted: 'sending', identityMissing: 'pausing', written: '.', refused: '.', lost: '.', unsent: '.', split: '.', pauseOver: '.', tick: '.', ended: 'ended' },
  ended: { added: '.', leaderFound: '.', leaderMissing: '.', identityGranted: '.', identityMissing: '.', written: '.', refused: '.', lost: '.', unsent: '.', split: '.', pauseOver: '.', tick: '.', ended: '.' },
}; // prettier-ignore

describe('the transition table', () => {
  const cases = Object.entries(table).flatMap(([from, row]) =>
    Object.entries(row).map(([event, to]) => [from, event, to === '.' ? from : to] as const),
  );

  test.each(cases)('%s, %s -> %s', (from, event, to) => {
    const before = inSituation[from as Situation]();
    expect(situation(before)).toBe(from);
    const { state } = stepSender(before, events[event as SenderEvent['type']], 0);
    expect(situation(state)).toBe(to);
    // Whatever happened: in flight is bounded, and a waiting one stands before one in flight only while all come home.
    expect(state.batches.filter(({ place }) => place === 'in flight').length).toBeLessThanOrEqual(
      5,
    );
  });
});
