import {
  isLinked,
  isResolved,
  isTrusted,
  nextStanding,
  type Standing,
  type StandingEvent,
} from './broker-standing';

// Total on purpose: the compiler asks for each new state and event.
const table: Record<Standing, Record<StandingEvent, Standing>> = {
  joining: row('imaging', 'joining', 'joining', 'failed', 'joining'),
  imaging: row('imaging', 'ready', 'joining', 'failed', 'failed'),
  ready: row('reimaging', 'ready', 'reconnecting', 'failed', 'failed'),
  reconnecting: row('reimaging', 'reconnecting', 'reconnecting', 'failed', 'failed'),
  reimaging: row('reimaging', 'ready', 'reconnecting', 'failed', 'failed'),
  failed: row('imaging', 'failed', 'failed', 'failed', 'failed'),
};

function row(
  up: Standing,
  acknowledged: Standing,
  down: Standing,
  refused: Standing,
  late: Standing,
): Record<StandingEvent, Standing> {
  return { 'stream-up': up, acknowledged, 'stream-down': down, refused, late };
}

describe('standing of a broker', () => {
  for (const [from, events] of Object.entries(table)) {
    for (const [event, to] of Object.entries(events)) {
      it(`${from}, ${event}: ${to}`, () => {
        expect(nextStanding(from as Standing, event as StandingEvent)).toBe(to);
      });
    }
  }

  it('only the acknowledged image makes a broker ready', () => {
    const ways = Object.entries(table).flatMap(([from, events]) =>
      Object.entries(events)
        .filter(([, to]) => to === 'ready' && from !== 'ready')
        .map(([event]) => event),
    );
    expect(new Set(ways)).toEqual(new Set(['acknowledged']));
  });

  it('trusted, linked, resolved', () => {
    const all = Object.keys(table) as Standing[];
    expect(all.filter(isTrusted)).toEqual(['ready', 'reconnecting', 'reimaging']);
    expect(all.filter(isLinked)).toEqual(['imaging', 'ready', 'reimaging']);
    expect(all.filter(isResolved)).toEqual(['ready', 'failed']);
  });
});
