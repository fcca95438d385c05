import { nextSuspicion, type Suspicion, type SuspicionEvent } from './suspicion';

const events = [
  'followed',
  'unfollowed',
  'heard',
  'lost',
  'reached',
  'unreachable',
  'doubted',
  'confirmed',
  'unconfirmed',
  'elapsed',
  'settled',
] as const satisfies readonly SuspicionEvent[];

// Total on purpose: the compiler asks for each new state and event. In the order of the events above.
// prettier-ignore
const table: Record<Suspicion, Record<SuspicionEvent, Suspicion>> = {
  idle: row('trusting', 'idle', 'idle', 'idle', 'idle', 'idle', 'idle', 'idle', 'idle', 'idle', 'idle'),
  trusting: row('trusting', 'idle', 'trusting', 'probing', 'trusting', 'trusting', 'trusting', 'trusting', 'trusting', 'trusting', 'trusting'),
  probing: row('trusting', 'idle', 'trusting', 'probing', 'pausing', 'polling', 'pausing', 'probing', 'probing', 'probing', 'probing'),
  polling: row('trusting', 'idle', 'trusting', 'polling', 'polling', 'polling', 'pausing', 'delaying', 'pausing', 'polling', 'polling'),
  delaying: row('trusting', 'idle', 'trusting', 'delaying', 'delaying', 'delaying', 'pausing', 'delaying', 'delaying', 'preempting', 'delaying'),
  preempting: row('trusting', 'idle', 'preempting', 'preempting', 'preempting', 'preempting', 'preempting', 'preempting', 'preempting', 'preempting', 'pausing'),
  pausing: row('trusting', 'idle', 'trusting', 'pausing', 'pausing', 'pausing', 'pausing', 'pausing', 'pausing', 'probing', 'pausing'),
};

function row(...to: Suspicion[]): Record<SuspicionEvent, Suspicion> {
  if (to.length !== events.length) throw new Error('one entry for each event');
  return Object.fromEntries(events.map((event, index) => [event, to[index]])) as Record<
    SuspicionEvent,
    Suspicion
  >;
}

describe('suspicion of a controller', () => {
  for (const [from, row] of Object.entries(table)) {
    for (const [event, to] of Object.entries(row)) {
      it(`${from}, ${event}: ${to}`, () => {
        expect(nextSuspicion(from as Suspicion, event as SuspicionEvent)).toBe(to);
      });
    }
  }

  it('nobody is replaced but after a loss, an own dial, the confirmation of others and the delay', () => {
    const into = (to: Suspicion): string[] =>
      (Object.keys(table) as Suspicion[]).flatMap((from) =>
        events
          .filter((event) => from !== to && table[from][event] === to)
          .map((event) => `${from}, ${event}`),
      );
    expect(into('preempting')).toEqual(['delaying, elapsed']);
    expect(into('delaying')).toEqual(['polling, confirmed']);
    expect(into('polling')).toEqual(['probing, unreachable']);
    expect(into('probing')).toEqual(['trusting, lost', 'pausing, elapsed']);
  });

  it('one that is heard again is trusted at once, whatever was found before', () => {
    const doubting = ['probing', 'polling', 'delaying', 'pausing'] as const;
    for (const phase of doubting) expect(nextSuspicion(phase, 'heard')).toBe('trusting');
  });
});
