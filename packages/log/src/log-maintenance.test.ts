/** The rounds of maintenance: when they run, that one failure stops nothing, and that they end. */
import { silentLogger, type Logger } from '@tributary/common';
import { SimulatedClock } from '@tributary/testkit';
import type { Log } from './log';
import {
  FIRST_MAINTENANCE_MS,
  LogMaintenance,
  MAINTENANCE_INTERVAL_MS,
  type MaintenanceDuty,
} from './log-maintenance';

let clock: SimulatedClock;
beforeEach(() => {
  clock = new SimulatedClock();
});

function maintenance(duties: readonly MaintenanceDuty[], logger: Logger = silentLogger) {
  return new LogMaintenance({ clock, logger, logs: (): Log[] => [], duties });
}

/** Counts its rounds; each takes as long as `work`. */
function duty(name: string, work: () => Promise<void> = async () => {}) {
  const counted = { name, rounds: 0, run: async () => ((counted.rounds += 1), work()) };
  return counted;
}

test('the first round comes soon, the next one an interval after the end of the last', async () => {
  let release = (): void => {};
  const slow = duty('slow', () => new Promise((resolve) => (release = resolve)));
  const rounds = maintenance([slow]);
  rounds.start();
  await clock.advance(FIRST_MAINTENANCE_MS);
  expect(slow.rounds).toBe(1);
  await clock.advance(10 * MAINTENANCE_INTERVAL_MS);
  expect(slow.rounds).toBe(1);
  release();
  await clock.advance(MAINTENANCE_INTERVAL_MS);
  expect(slow.rounds).toBe(2);
  release();
  await rounds.stop();
});

test('a duty that fails is reported, and keeps neither the others nor the next round away', async () => {
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => warnings.push(message) };
  const failing = duty('failing', () => Promise.reject(new Error('no')));
  const sound = duty('sound');
  const rounds = maintenance([failing, sound], logger);
  await rounds.run();
  await rounds.run();
  expect([failing.rounds, sound.rounds]).toEqual([2, 2]);
  expect(warnings).toHaveLength(2);
});

test('a round that is asked for while one is under way follows it', async () => {
  let release = (): void => {};
  const slow = duty('slow', () => new Promise((resolve) => (release = resolve)));
  const rounds = maintenance([slow]);
  const first = rounds.run();
  const second = rounds.run();
  expect(slow.rounds).toBe(1);
  release();
  await first;
  await clock.advance(0);
  expect(slow.rounds).toBe(2);
  release();
  await second;
});

test('stopping waits for the round, tells it to end, and none follows', async () => {
  let stopping = false;
  const patient: MaintenanceDuty = {
    name: 'patient',
    run: async (_logs, pace) => {
      while (!pace.stopping) await new Promise<void>((go) => clock.setTimer(1, go));
      stopping = true;
    },
  };
  const next = duty('next');
  const rounds = maintenance([patient, next]);
  rounds.start();
  await clock.advance(FIRST_MAINTENANCE_MS);
  const stopped = rounds.stop();
  await clock.advance(10);
  await stopped;
  expect([stopping, next.rounds]).toEqual([true, 0]);
  await rounds.run();
  expect(clock.pendingTimers).toBe(0);
});

test('a pause gives the event loop back once a slice has passed', async () => {
  const events: string[] = [];
  const busy: MaintenanceDuty = {
    name: 'busy',
    run: async (_logs, pace) => {
      await pace.pause();
      events.push('within the slice');
      await clock.settleWithin(new Promise<void>((go) => clock.setTimer(10, go)), 10);
      clock.setTimer(0, () => events.push('somebody else'));
      await pace.pause();
      events.push('after it');
    },
  };
  const round = maintenance([busy]).run();
  await clock.advance(20);
  await round;
  expect(events).toEqual(['within the slice', 'somebody else', 'after it']);
});
