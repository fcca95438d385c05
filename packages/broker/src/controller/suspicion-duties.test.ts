import {
  ControllerScript,
  epochOf,
  registered,
  settings,
  storedState,
  topicContext,
} from './controller-script.fixture';
import type { ControllerEffect } from './controller-effect';
import { step } from './step';
import { maxSuspects } from './suspicion-duties';

const orders = topicContext('orders', [[1, 2, 3]]);

/** orders/0 on 1,2,3 with leader 1 and everybody in sync, all brokers ready. */
function running(): ControllerScript {
  return new ControllerScript().begin([1, 2, 3], [orders]);
}

/** What the script's next event makes the driver watch and note. */
class Watched {
  watches: { readonly brokerId: number; readonly round: number; readonly delayMs: number }[] = [];
  journal: string[] = [];

  constructor(readonly script: ControllerScript) {
    const { event } = script;
    script.event = (happened) => {
      const { effects } = step(script.state, happened, settings);
      for (const effect of effects) this.note(effect);
      return event.call(script, happened);
    };
  }

  /** The newest watch comes to its end. */
  stable(): this {
    const { brokerId, round } = this.watches.at(-1)!;
    this.script.event({ type: 'suspect-stable', brokerId, round });
    return this;
  }

  private note(effect: ControllerEffect): void {
    if (effect.type === 'watch-suspect') this.watches.push(effect);
    if (effect.type === 'journal') this.journal.push(`${effect.entry.who}: ${effect.entry.what}`);
  }
}

describe('a broker that failed and came back', () => {
  it('gets its seat in the ISR, but leads only after a while where another can', () => {
    const watched = new Watched(running());
    const { script } = watched;
    script.refused(2).acknowledgeWrites();
    script.ready(2).alter(1, 'orders/0', [1, 2, 3]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.2, ISR 1,2,3');
    script.refused(1).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 3, epoch 1.3, ISR 2,3');
    expect(watched.journal).toEqual(
      expect.arrayContaining(['broker 2: suspected', 'broker 2: on probation for 1000 ms']),
    );
  });

  it('was stable for its time: it leads as any other', () => {
    const watched = new Watched(running());
    const { script } = watched;
    script.refused(2).acknowledgeWrites();
    script.ready(2).alter(1, 'orders/0', [1, 2, 3]).acknowledgeWrites();
    watched.stable();
    script.refused(1).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 2, epoch 1.3, ISR 2,3');
    expect(watched.journal).toContain('broker 2: no longer on probation');
  });

  it('is the only one in sync: it leads at once, on probation or not', () => {
    const states = [storedState('orders', 0, { leader: 2, leaderEpoch: 4, isr: [2] })];
    const script = new ControllerScript();
    script.begin([1, 2, 3], [topicContext('orders', [[1, 2, 3]], states)]);
    script.refused(2).acknowledgeWrites();
    expect(script.stored('orders/0')).toMatch(/^leader -1/);
    script.ready(2).acknowledgeWrites();
    expect(script.stored('orders/0')).toMatch(/^leader 2, .* ISR 2$/);
  });

  it('all are on probation: the first of them leads', () => {
    const script = running();
    script.refused(2).acknowledgeWrites().ready(2);
    script.refused(3).acknowledgeWrites().ready(3);
    script.alter(1, 'orders/0', [1, 2, 3]).acknowledgeWrites();
    script.refused(1).acknowledgeWrites();
    expect(script.stored('orders/0')).toMatch(/^leader 2/);
  });

  it('a new topic begins on the steady ones', () => {
    const script = running();
    script.refused(1).acknowledgeWrites().ready(1);
    const payments = topicContext('payments', [[1, 2, 3]]);
    script.event({ type: 'topics-changed', names: ['orders', 'payments'], topics: [payments] });
    script.acknowledgeWrites();
    expect(script.stored('payments/0')).toBe('leader 2, epoch 0.0, ISR 1,2,3');
  });

  it('comes and goes: twice as long each time, up to the longest', () => {
    const watched = new Watched(running());
    const { script } = watched;
    for (let flap = 0; flap < 8; flap += 1) script.refused(3).ready(3);
    const { probationMaxMs } = settings;
    const delays = watched.watches.map(({ delayMs }) => delayMs);
    expect(delays.slice(0, 6)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000]);
    expect(delays.slice(6)).toEqual([probationMaxMs, probationMaxMs]);
  });

  it('the watch of an earlier failure ends nothing', () => {
    const watched = new Watched(running());
    const { script } = watched;
    script.refused(2).ready(2);
    const { round } = watched.watches[0]!;
    script.refused(2).ready(2);
    script.event({ type: 'suspect-stable', brokerId: 2, round });
    expect(script.state.brokers.get(2)?.onProbation).toBe(true);
  });

  it('its stream breaks on probation: it was not stable, and begins anew', () => {
    const watched = new Watched(running());
    const { script } = watched;
    script.refused(2).ready(2).streamDown(2);
    watched.stable();
    expect(script.state.brokers.get(2)?.onProbation).toBe(true);
    script.ready(2);
    expect(watched.watches.map(({ delayMs }) => delayMs)).toEqual([1_000, 1_000]);
    watched.stable();
    expect(script.state.brokers.get(2)?.onProbation).toBe(false);
  });

  it('is forgotten after a long time without failure', () => {
    const watched = new Watched(running());
    const { script } = watched;
    script.refused(2).ready(2);
    watched.stable();
    expect(watched.watches.at(-1)?.delayMs).toBe(settings.suspicionMemoryMs);
    watched.stable();
    expect(script.state.suspicions.size).toBe(0);
    script.refused(2).ready(2);
    expect(watched.watches.at(-1)?.delayMs).toBe(settings.probationMs);
  });

  it('is the same suspect in its next life, and one failure counts once', () => {
    const watched = new Watched(running());
    const { script } = watched;
    script.refused(2);
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(3)] });
    const all = [registered(1), registered(2, 1), registered(3)];
    script.event({ type: 'brokers-changed', brokers: all }).ready(2, 1);
    expect(watched.watches.map(({ delayMs }) => delayMs)).toEqual([1_000]);
    expect(script.state.brokers.get(2)?.onProbation).toBe(true);
  });

  it('a bounce that nobody saw is a failure, too', () => {
    const script = running();
    const all = [registered(1), registered(2, 1), registered(3)];
    script.event({ type: 'brokers-changed', brokers: all }).ready(2, 1);
    expect(script.state.brokers.get(2)?.onProbation).toBe(true);
  });

  it('a controlled shutdown is no failure', () => {
    const script = running();
    const { brokerId, brokerEpoch } = { brokerId: 2, brokerEpoch: epochOf(2) };
    script.event({ type: 'controlled-shutdown', brokerId, brokerEpoch, requestId: 1 });
    script.acknowledgeWrites().refused(2);
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(3)] });
    const all = [registered(1), registered(2, 1), registered(3)];
    script.event({ type: 'brokers-changed', brokers: all }).ready(2, 1);
    expect(script.state.brokers.get(2)?.onProbation).toBe(false);
  });

  it(`at most ${maxSuspects} are remembered`, () => {
    const script = new ControllerScript().begin([1]);
    const many = Array.from({ length: maxSuspects + 5 }, (_, index) => registered(index + 10));
    script.event({ type: 'brokers-changed', brokers: [registered(1), ...many] });
    script.event({ type: 'brokers-changed', brokers: [registered(1)] });
    expect(script.state.suspicions.size).toBe(maxSuspects);
    expect(script.state.suspicions.has(10)).toBe(false);
  });
});
