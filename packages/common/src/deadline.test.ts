import { SimulatedClock } from '@tributary/testkit';
import { sleep } from './clock';
import { Deadline } from './deadline';

describe('Deadline', () => {
  test('race: the work, when it is in time', async () => {
    const clock = new SimulatedClock();
    const deadline = Deadline.after(clock, 100);
    await expect(deadline.race(Promise.resolve(7), 'it')).resolves.toBe(7);
    expect(clock.pendingTimers).toBe(0);
  });

  test('race: TIMEOUT at the deadline, and the late outcome is nobody else’s problem', async () => {
    const clock = new SimulatedClock();
    const late = sleep(clock, 200).then(() => {
      throw new Error('too late to matter');
    });
    const raced = Deadline.after(clock, 100).race(late, 'the answer');
    const outcome = expect(raced).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: 'the answer did not finish in time',
    });
    await clock.advance(300);
    await outcome;
  });

  test('race: CANCELLED when the caller aborts, with its reason as the cause', async () => {
    const clock = new SimulatedClock();
    const controller = new AbortController();
    const raced = Deadline.after(clock, 100, controller.signal).race(
      new Promise(() => undefined),
      'it',
    );
    controller.abort('enough');
    await expect(raced).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    expect(clock.pendingTimers).toBe(0);
  });

  test('check and remainingMs follow the clock', async () => {
    const clock = new SimulatedClock();
    const deadline = Deadline.after(clock, 100);
    await clock.advance(40);
    expect(deadline.remainingMs).toBe(60);
    deadline.check('it');
    await clock.advance(60);
    expect(deadline.expired).toBe(true);
    expect(() => deadline.check('it')).toThrow('did not finish in time');
  });

  test('sleep: an abort wakes it at once and leaves no timer', async () => {
    const clock = new SimulatedClock();
    const controller = new AbortController();
    const slept = sleep(clock, 1000, controller.signal);
    controller.abort();
    await expect(slept).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(clock.pendingTimers).toBe(0);
  });
});
