import { seededRandom, silentLogger, TributaryError } from '@tributary/common';
import type { CurrentController, RegisteredBroker } from '@tributary/coordination';
import { methods } from '@tributary/protocol';
import { ProcessClock, SimulatedClock } from '@tributary/testkit';
import { sessionTimeoutMs, TestCluster } from '../control-cluster.fixture';
import { defaultControlLimits } from '../control-limits';
import type { ControllerStream } from '../control/controller-stream';
import { EarlyHellos, maxEarlyHellos } from '../control/early-hellos';
import { LossEvidence } from './loss-evidence';
import { maxQuestionsInFlight, pollLoss } from './loss-poll';
import type { LossAnswer, LossQuestion } from './loss-question';
import { Preemption } from './preemption';

const limits = defaultControlLimits;

/** Who said what as controller or of it, oldest first. */
function said(cluster: TestCluster, brokerId: number): string[] {
  return cluster
    .node(brokerId)
    .broker.decisions()
    .map(({ who, what }) => `${who}: ${what}`);
}

/** Somebody shows broker 1 this controller epoch. */
function claim(cluster: TestCluster, controllerEpoch: number): Promise<unknown> {
  const hello = { minVersion: 1, maxVersion: 1, brokerId: 1, senderBrokerId: 2 };
  const request = { hello, controllerId: 2, controllerEpoch };
  return cluster.call(1, (connection) =>
    connection.call(methods.control.confirmLoss, request, { timeoutMs: 1_000 }),
  );
}

/** As broker 9 of another reign; the first answer. */
function dialAsController(
  cluster: TestCluster,
  brokerId: number,
  controllerEpoch: number,
): Promise<unknown> {
  const expectedBrokerEpoch = cluster.node(brokerId).broker.status().brokerEpoch!;
  return cluster.call(brokerId, async (connection) => {
    const stream = connection.open(methods.control.session);
    const first = new Promise((resolve, reject) => {
      stream.handle({ onMessage: resolve, onClose: reject });
    });
    const said = { minVersion: 1, maxVersion: 1, brokerId, senderBrokerId: 9 };
    const hello = { hello: said, controllerId: 9, expectedBrokerEpoch };
    stream.send({ hello, body: 'hello', controllerEpoch });
    return first;
  });
}

describe('a controller that is lost', () => {
  it('crashes: one of the others replaces it long before its session ends; its partitions move', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    await cluster.createTopic(1, 'orders', 3, 3);
    const partition = [0, 1, 2].find((p) => cluster.partition(2, 'orders', p)?.leader === 1)!;
    const epoch = cluster.node(2).broker.status().controllerEpoch!;
    const before = cluster.clock.now();
    cluster.crash(1);
    await cluster.until(() => (cluster.partition(2, 'orders', partition)?.leader ?? 1) !== 1);
    expect(cluster.clock.now() - before).toBeLessThan(500);
    expect(cluster.node(2).broker.status().controllerEpoch).toBe(epoch + 1);
    // Its registration lasts: nothing has expired yet.
    expect(cluster.node(2).replicas().image?.broker(1)?.eligible).toBe(false);
    await cluster.clock.advance(2 * sessionTimeoutMs);
    expect(cluster.node(2).broker.status().controllerEpoch).toBe(epoch + 1);
  });

  it('of three, two are dead: no majority is left, so the end of the session is waited for', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    cluster.crash(3);
    cluster.crash(1);
    const before = cluster.clock.now();
    await cluster.clock.advance(sessionTimeoutMs - 1_500);
    expect(cluster.controllerId).toBeUndefined();
    await cluster.until(() => cluster.controllerId === 2);
    expect(cluster.clock.now() - before).toBeLessThan(sessionTimeoutMs + 3_000);
  });

  it('of five, two are dead: the other three replace it', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3, 4, 5);
    cluster.crash(5);
    const before = cluster.clock.now();
    cluster.crash(1);
    await cluster.until(() => cluster.controllerId !== undefined);
    expect(cluster.clock.now() - before).toBeLessThan(500);
  });

  it('is cut off from all others, but not from the coordinator: replaced by silence, it resigns', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3, 4, 5);
    const epoch = cluster.node(2).broker.status().controllerEpoch!;
    // 5 still hears it, so it never sees most of them silent at once while the others lose it.
    for (const other of [2, 3, 4]) {
      cluster.network.partition('host-1', `host-${other}`, { oneWay: true });
    }
    await cluster.until(() => [2, 3, 4, 5].includes(cluster.controllerId ?? 0), 6_000);
    await cluster.until(() => cluster.node(5).broker.status().controllerEpoch === epoch + 1);
    expect(said(cluster, 1).at(-1)).toMatch(/broker 1: resigns/);
    cluster.network.heal();
    const isBack = (): boolean =>
      cluster.node(cluster.controllerId!).replicas().image?.broker(1)?.eligible === true;
    await cluster.until(isBack);
    await cluster.until(() => cluster.node(1).broker.status().controllerEpoch === epoch + 1);
  });

  it('one broker alone cannot reach it: the others hear it, so it stays', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    cluster.network.partition('host-1', 'host-3');
    await cluster.clock.advance(20_000);
    expect(cluster.controllerId).toBe(1);
    expect(said(cluster, 3)).toEqual([]);
  });

  it('its streams break and it lives: it dials again, nobody replaces it', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    for (const other of [2, 3]) cluster.network.reset('host-1', `host-${other}`);
    await cluster.clock.advance(5_000);
    expect(cluster.controllerId).toBe(1);
    expect([...said(cluster, 2), ...said(cluster, 3)]).toEqual([]);
    expect(cluster.ready(2) && cluster.ready(3)).toBe(true);
  });

  it('a broker without contact to the coordinator replaces nobody, and confirms for the other', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    cluster.ensemble.disconnect(cluster.node(2).coordinator);
    await cluster.clock.advance(100);
    cluster.crash(1);
    await cluster.until(() => cluster.controllerId !== undefined, sessionTimeoutMs + 3_000);
    expect(cluster.controllerId).toBe(3);
    expect(said(cluster, 2)).toEqual([]);
  });

  it('two in turn: each reign is replaced once, the epochs stay in order', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3, 4, 5);
    const epoch = cluster.node(5).broker.status().controllerEpoch!;
    cluster.crash(1);
    await cluster.until(() => cluster.controllerId !== undefined);
    const second = cluster.controllerId!;
    cluster.crash(second);
    await cluster.until(() => cluster.controllerId !== undefined);
    const alive = [...cluster.nodes.keys()];
    await cluster.until(() =>
      alive.every((id) => cluster.node(id).broker.status().controllerEpoch === epoch + 2),
    );
  });

  it.each<[string, (cluster: TestCluster) => Promise<unknown>]>([
    ['who asks', (cluster) => claim(cluster, 99)],
    ['who dials it as controller', (cluster) => dialAsController(cluster, 1, 99)],
  ])('deposed and alive, it resigns at the first %s in a higher epoch', async (_who, show) => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    // It hears nothing of the coordinator, so its watch cannot tell it, nor can it ask.
    cluster.ensemble.disconnect(cluster.node(1).coordinator);
    await show(cluster);
    await cluster.until(() => /resigns/.test(said(cluster, 1).at(-1) ?? ''), 1_000);
  });

  it('deposed and alive, it resigns when a broker refuses its stream as one of the past', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    // Neither of the two can ask the coordinator.
    for (const id of [1, 2]) cluster.ensemble.disconnect(cluster.node(id).coordinator);
    await dialAsController(cluster, 2, 99);
    await cluster.until(() => /resigns/.test(said(cluster, 1).at(-1) ?? ''), 3_000);
    const why = cluster.node(1).broker.decisions().at(-1)?.why;
    expect(why).toMatch('99');
  });

  it('it stays in office where the coordinator knows that the epoch claimed never began', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    const { controllerEpoch } = cluster.node(1).broker.status();
    for (const epoch of [99, 2_147_483_647, 99]) await claim(cluster, epoch);
    await cluster.clock.advance(sessionTimeoutMs);
    expect(said(cluster, 1).filter((line) => /resigns/.test(line))).toEqual([]);
    expect(cluster.node(1).broker.status()).toMatchObject({ isController: true, controllerEpoch });
  });

  it('a broker that starts refuses the image of whoever was deposed before it registered', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2);
    const old = cluster.node(1).broker.status().controllerEpoch!;
    cluster.ensemble.expire(cluster.node(1).coordinator.sessionId!);
    await cluster.until(() => (cluster.node(2).broker.status().controllerEpoch ?? 0) > old);
    // It has not heard of the next one, but in the coordinator.
    const { controllerId } = cluster.node(2).broker.status();
    cluster.network.partition(`host-${controllerId}`, 'host-3');
    await cluster.register(3);
    expect(cluster.ready(3)).toBe(false);
    expect(await dialAsController(cluster, 3, old)).toMatchObject({
      error: { code: 'STALE_CONTROLLER_EPOCH' },
    });
  });
});

describe('a controller that knows of a registration before the broker itself', () => {
  const hello = (cluster: TestCluster, expectedBrokerEpoch: number): Promise<unknown> =>
    cluster.call(2, async (connection) => {
      const stream = connection.open(methods.control.session);
      const first = new Promise((resolve, reject) => {
        stream.handle({ onMessage: resolve, onClose: reject });
      });
      const said = { minVersion: 1, maxVersion: 1, brokerId: 2, senderBrokerId: 9 };
      const hello = { hello: said, controllerId: 9, expectedBrokerEpoch };
      stream.send({ hello, body: 'hello', controllerEpoch: 99 });
      return first;
    });

  it('is refused after a moment when none comes', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2);
    const before = cluster.clock.now();
    const answer = await hello(cluster, cluster.node(2).broker.status().brokerEpoch! + 1_000);
    expect(answer).toMatchObject({ error: { code: 'FENCED_BROKER_EPOCH' } });
    expect(cluster.clock.now() - before).toBeGreaterThanOrEqual(limits.earlyHelloMs);
  });

  it('held ones are bounded, released in order, and each once', async () => {
    const clock = new SimulatedClock();
    const early = new EarlyHellos(clock, 500);
    const greeted: number[] = [];
    for (let index = 0; index <= maxEarlyHellos; index += 1) {
      early.hold(() => void greeted.push(index));
    }
    expect(greeted).toEqual([maxEarlyHellos]);
    early.release();
    await clock.advance(1_000);
    expect(greeted).toHaveLength(maxEarlyHellos + 1);
    expect(greeted.slice(1, 4)).toEqual([0, 1, 2]);
  });
});

/** One broker of three, that follows broker 1; what the others answer is the script's. */
class Follower {
  readonly world = new SimulatedClock();
  readonly clock = new ProcessClock(this.world);
  readonly replaced: CurrentController[] = [];
  readonly asked: number[] = [];
  readonly reign = { brokerId: 1, controllerEpoch: 4 };
  stream: ControllerStream | undefined;
  hasCoordinator = true;
  brokers = [1, 2, 3];
  answers = new Map<number, LossAnswer | TributaryError | 'nothing'>();
  readonly preemption: Preemption;

  constructor() {
    const { clock } = this;
    const question = {
      ask: (whom: RegisteredBroker) => this.ask(whom.brokerId),
    } as unknown as LossQuestion;
    const common = { brokerId: 2, clock, logger: silentLogger, limits, question };
    const registered = async (): Promise<RegisteredBroker[]> =>
      this.brokers.map((brokerId) => ({
        brokerId,
        brokerEpoch: 100 + brokerId,
        endpoints: [],
        rack: undefined,
        hostname: `host-${brokerId}`,
      }));
    this.preemption = new Preemption({
      ...common,
      random: seededRandom(1),
      evidence: new LossEvidence({ ...common, registered }),
      stream: () => this.stream,
      hasCoordinator: () => this.hasCoordinator,
      replace: async (reign) => {
        this.replaced.push(reign);
        this.preemption.follow(undefined);
      },
      note: () => undefined,
    });
    this.hear();
    this.preemption.follow(this.reign);
  }

  hear(): void {
    this.stream = { controllerEpoch: 4, isUp: true, lastHeardAt: this.clock.now() };
    this.preemption.onStream('up');
  }

  break(): void {
    this.stream = { controllerEpoch: 4, isUp: false, lastHeardAt: this.clock.now() };
    this.preemption.onStream('down');
  }

  private ask(brokerId: number): Promise<LossAnswer> {
    this.asked.push(brokerId);
    const answer = this.answers.get(brokerId) ?? 'nothing';
    if (answer instanceof TributaryError) return Promise.reject(answer);
    if (answer !== 'nothing') return Promise.resolve(answer);
    return new Promise((_, reject) => {
      const error = new TributaryError('TIMEOUT', 'no answer');
      this.clock.setTimer(limits.lossProbeTimeoutMs, () => reject(error));
    });
  }
}

const refused = new TributaryError('UNAVAILABLE', 'refused', { details: { refused: true } });
const lost: LossAnswer = { lost: true, why: 'refused' };
const heard: LossAnswer = { lost: false, why: 'its stream is up' };

describe('what counts as a loss', () => {
  it('a broken stream, a refused dial and one confirmation of three: replaced', async () => {
    const follower = new Follower();
    follower.answers.set(1, refused).set(3, lost);
    follower.break();
    await follower.world.advance(100);
    expect(follower.asked).toEqual([1, 3]);
    expect(follower.replaced).toEqual([follower.reign]);
  });

  it('a broken stream alone: its dial is answered, nobody else is asked', async () => {
    const follower = new Follower();
    follower.answers.set(1, heard).set(3, lost);
    follower.break();
    await follower.world.advance(10_000);
    expect(new Set(follower.asked)).toEqual(new Set([1]));
    expect(follower.replaced).toEqual([]);
  });

  it('a dial that broke while it was made is made again', async () => {
    const follower = new Follower();
    follower.answers.set(1, new TributaryError('UNAVAILABLE', 'reset')).set(3, lost);
    follower.break();
    await follower.world.advance(5);
    expect(follower.asked).toEqual([1]);
    follower.answers.set(1, refused);
    await follower.world.advance(200);
    expect(follower.replaced).toHaveLength(1);
  });

  it('the others hear it: it stays, and they are asked again later', async () => {
    const follower = new Follower();
    follower.answers.set(1, refused).set(3, heard);
    follower.break();
    await follower.world.advance(500);
    expect(follower.replaced).toEqual([]);
    expect(follower.asked.filter((id) => id === 3).length).toBeGreaterThan(1);
    follower.answers.set(3, lost);
    await follower.world.advance(1_200);
    expect(follower.replaced).toEqual([follower.reign]);
  });

  it('silence for the time of the heartbeats and an unanswered dial: as good as refused', async () => {
    const follower = new Follower();
    follower.answers.set(3, lost);
    await follower.world.advance(limits.heartbeatTimeoutMs - 1);
    expect(follower.asked).toEqual([]);
    await follower.world.advance(limits.heartbeatIntervalMs + limits.lossProbeTimeoutMs + 200);
    expect(follower.replaced).toEqual([follower.reign]);
  });

  it('one that never dialled after its election: silent from then on', async () => {
    const follower = new Follower();
    follower.answers.set(5, refused).set(1, lost).set(3, lost);
    follower.brokers = [1, 2, 3, 5];
    follower.preemption.follow({ brokerId: 5, controllerEpoch: 5 });
    await follower.world.advance(limits.heartbeatTimeoutMs - 1);
    expect(follower.replaced).toEqual([]);
    await follower.world.advance(1_000);
    expect(follower.replaced).toContainEqual({ brokerId: 5, controllerEpoch: 5 });
  });

  it('time in which this process stood still is no silence of the controller', async () => {
    const follower = new Follower();
    follower.answers.set(3, lost);
    follower.clock.pause();
    await follower.world.advance(20_000);
    follower.clock.resume();
    await follower.world.advance(10);
    follower.hear();
    await follower.world.advance(limits.heartbeatTimeoutMs - limits.heartbeatIntervalMs);
    expect(follower.asked).toEqual([]);
  });

  it('a dial that was not answered while this process stood still does not count', async () => {
    const follower = new Follower();
    follower.answers.set(3, lost);
    follower.break();
    await follower.world.advance(10);
    follower.clock.pause();
    await follower.world.advance(20_000);
    follower.clock.resume();
    follower.answers.set(1, heard);
    await follower.world.advance(5_000);
    expect(new Set(follower.asked)).toEqual(new Set([1]));
    expect(follower.replaced).toEqual([]);
  });

  it('the lowest that is left goes at once, the next one after it', async () => {
    const lowest = new Follower();
    lowest.answers.set(1, refused).set(3, lost);
    lowest.break();
    await lowest.world.advance(1);
    expect(lowest.replaced).toEqual([lowest.reign]);
    const next = new Follower();
    next.brokers = [0, 1, 2];
    next.answers.set(1, refused).set(0, lost);
    next.break();
    await next.world.advance(limits.preemptionDelayMs - 1);
    expect(next.replaced).toEqual([]);
    await next.world.advance(limits.preemptionDelayMs + 1);
    expect(next.replaced).toEqual([next.reign]);
  });

  it('it is heard again in the delay before: nobody replaces it', async () => {
    const follower = new Follower();
    // Behind broker 0, so that there is a delay.
    follower.brokers = [0, 1, 2];
    follower.answers.set(1, refused).set(0, lost);
    follower.break();
    await follower.world.advance(0);
    expect(follower.asked).toEqual([1, 0]);
    follower.hear();
    await follower.world.advance(1_000);
    expect(follower.replaced).toEqual([]);
  });

  it('this process stood still in the delay before: what was found is old, and looked for again', async () => {
    const follower = new Follower();
    follower.brokers = [0, 1, 2];
    follower.answers.set(1, refused).set(0, lost);
    follower.break();
    await follower.world.advance(0);
    follower.clock.pause();
    await follower.world.advance(20_000);
    follower.answers.set(1, heard);
    follower.clock.resume();
    await follower.world.advance(5_000);
    expect(follower.replaced).toEqual([]);
  });

  it('without contact to the coordinator nothing is tried', async () => {
    const follower = new Follower();
    follower.answers.set(1, refused).set(3, lost);
    follower.hasCoordinator = false;
    follower.break();
    await follower.world.advance(5_000);
    expect(follower.replaced).toEqual([]);
    follower.hasCoordinator = true;
    await follower.world.advance(1_500);
    expect(follower.replaced).toEqual([follower.reign]);
  });

  it('its registration or this one is gone: the coordinator decides, nobody else', async () => {
    for (const brokers of [
      [2, 3],
      [1, 3],
    ]) {
      const follower = new Follower();
      follower.answers.set(1, refused).set(3, lost);
      follower.brokers = brokers;
      follower.break();
      await follower.world.advance(5_000);
      expect(follower.asked).toEqual([]);
    }
  });

  it('what another one asks is answered from a dial of its own, and only for the reign that it follows', async () => {
    const follower = new Follower();
    follower.answers.set(1, refused);
    expect(await follower.preemption.confirm(follower.reign)).toEqual(heard);
    expect(follower.asked).toEqual([]);
    follower.break();
    await follower.world.advance(10);
    expect(await follower.preemption.confirm(follower.reign)).toEqual(lost);
    const later = { brokerId: 1, controllerEpoch: 5 };
    expect(await follower.preemption.confirm(later)).toMatchObject({ lost: false });
  });
});

describe('the poll', () => {
  const poll = (registered: number, yes: readonly number[]) => {
    const asked: number[] = [];
    const question = {
      ask: async (whom: RegisteredBroker) => {
        asked.push(whom.brokerId);
        return { lost: yes.includes(whom.brokerId), why: '' };
      },
    } as unknown as LossQuestion;
    const brokers = Array.from({ length: registered }, (_, index) => ({
      brokerId: index + 1,
      brokerEpoch: 1,
      endpoints: [],
      rack: undefined,
      hostname: '',
    }));
    const options = { brokerId: 2, logger: silentLogger, question };
    const result = pollLoss(options, { brokerId: 1, controllerEpoch: 1 }, brokers);
    return { result, asked };
  };

  it('needs more than half of all that are registered, the controller among them', async () => {
    const outcomes = [
      [2, [], false],
      [3, [], false],
      [3, [3], true],
      [4, [3], false],
      [4, [3, 4], true],
      [5, [3], false],
      [5, [3, 4], true],
    ] as const;
    for (const [registered, yes, confirmed] of outcomes) {
      const { result } = poll(registered, yes);
      expect([registered, yes, (await result).confirmed]).toEqual([registered, yes, confirmed]);
    }
  });

  it(`asks at most ${maxQuestionsInFlight} at once, and no more when it is decided`, async () => {
    const everybody = Array.from({ length: 200 }, (_, index) => index + 1);
    const { result, asked } = poll(200, everybody);
    expect(asked).toHaveLength(maxQuestionsInFlight);
    expect((await result).confirming).toHaveLength(101);
    expect(asked.length).toBeLessThan(101 + maxQuestionsInFlight);
  });
});
