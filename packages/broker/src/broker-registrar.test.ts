/** Registration and sessions: what is reported to the broker, and when. The registry answers when the test says so. */
import { seededRandom, silentLogger, TributaryError } from '@tributary/common';
import type { BrokerRegistry, Coordinator, SessionListener } from '@tributary/coordination';
import { SimulatedClock } from '@tributary/testkit';
import { BrokerRegistrar } from './broker-registrar';

class Registering {
  readonly clock = new SimulatedClock();
  readonly told: string[] = [];
  /** Attempts that wait for their answer, oldest first. */
  readonly attempts: { done(brokerEpoch: number): void; refuse(error: TributaryError): void }[] = []; // prettier-ignore
  readonly registrar: BrokerRegistrar;
  private listener: SessionListener = () => undefined;

  constructor() {
    const coordinator = {
      sessionTicket: undefined,
      onSession: (listener: SessionListener) => {
        this.listener = listener;
        return { stop: () => undefined };
      },
    };
    const register = (): Promise<number> =>
      new Promise((done, refuse) => this.attempts.push({ done, refuse }));
    this.registrar = new BrokerRegistrar({
      coordinator: coordinator as unknown as Coordinator,
      registry: { register } as unknown as BrokerRegistry,
      registration: { brokerId: 1, endpoints: [], rack: undefined, hostname: 'host-1' },
      clock: this.clock,
      random: seededRandom(7),
      logger: silentLogger,
      saveSessionTicket: () => undefined,
      controllerEpoch: async () => 3,
      onRegistered: (brokerEpoch, controllerEpoch) =>
        this.told.push(`registered in ${brokerEpoch}, controllers from ${controllerEpoch} on`),
      onExpired: () => this.told.push('expired'),
      onFatal: ({ code }) => this.told.push(`fatal: ${code}`),
    });
    void this.registrar.start();
  }

  /** The server said that the session is over; another one begins. */
  nextSession(): void {
    this.listener({ type: 'expired' });
    this.listener({ type: 'opened', sessionId: 'next' });
  }

  async answer(brokerEpoch: number): Promise<void> {
    this.attempts.shift()?.done(brokerEpoch);
    await this.clock.advance(0);
  }
}

describe('registration', () => {
  it('ends with its session, and is made again in the next one', async () => {
    const one = new Registering();
    await one.answer(101);
    expect(one.registrar.registered).toBe(true);
    one.nextSession();
    expect(one.registrar.registered).toBe(false);
    await one.answer(202);
    expect(one.told).toEqual([
      'registered in 101, controllers from 3 on',
      'expired',
      'registered in 202, controllers from 3 on',
    ]);
  });

  it('that comes through after its session is over is none', async () => {
    const one = new Registering();
    one.nextSession();
    expect(one.attempts).toHaveLength(2);
    await one.answer(101);
    expect(one.told).toEqual([]);
    expect(one.registrar.registered).toBe(false);
    await one.answer(202);
    expect(one.told).toEqual(['registered in 202, controllers from 3 on']);
  });

  it('is given up where somebody else took the id meanwhile', async () => {
    const one = new Registering();
    await one.answer(101);
    one.nextSession();
    one.attempts.shift()?.refuse(new TributaryError('BROKER_ID_IN_USE', 'host-9 has it'));
    await one.clock.advance(10_000);
    expect(one.told.slice(1)).toEqual(['expired', 'fatal: BROKER_ID_IN_USE']);
    expect(one.attempts).toEqual([]);
  });

  it('that fails is tried again', async () => {
    const one = new Registering();
    await one.answer(101);
    one.nextSession();
    one.attempts.shift()?.refuse(new TributaryError('COORDINATOR_UNAVAILABLE', 'not now'));
    await one.clock.advance(2_000);
    await one.answer(202);
    expect(one.told.at(-1)).toBe('registered in 202, controllers from 3 on');
  });
});
