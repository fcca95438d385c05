/// <reference types="jest" />
/**
 * What replacing a controller does on any coordinator: it removes the very reign that was named, or nothing. Run on
 * the embedded coordinator and on a real ensemble.
 */
import { seededRandom, silentLogger, TributaryError } from '@tributary/common';
import {
  createControllerElection,
  createPartitionStateStore,
  createTopicStore,
  type ControllerElection,
  type ControllerFence,
  type Coordinator,
  type CurrentController,
} from '@tributary/coordination';
import type { ClusterNounsHarness } from './cluster-nouns-contract';

export function describePreemptionContract(
  name: string,
  makeHarness: () => Promise<ClusterNounsHarness>,
): void {
  describe(`pre-emption of a controller: ${name}`, () => {
    let harness: ClusterNounsHarness;
    /** The broker that is suspected, and two that suspect it. */
    let old: Coordinator;
    let second: Coordinator;
    let third: Coordinator;
    let seeds = 0;
    /** `of`, whose multis go through `run`. */
    const through = (
      of: Coordinator,
      run: (send: () => ReturnType<Coordinator['multi']>) => ReturnType<Coordinator['multi']>,
    ): Coordinator =>
      new Proxy(of, {
        get(target, property) {
          if (property !== 'multi') return Reflect.get(target, property, target) as unknown;
          return (operations: Parameters<Coordinator['multi']>[0]) =>
            run(() => target.multi(operations));
        },
      });

    beforeEach(async () => {
      harness = await makeHarness();
      old = await harness.connect();
      second = await harness.connect();
      third = await harness.connect();
    });
    afterEach(() => harness.close());

    const election = (of: Coordinator): ControllerElection =>
      createControllerElection(of, harness.clock, seededRandom((seeds += 1)));
    const elected = async (
      of: Coordinator,
      brokerId: number,
      replacing?: CurrentController,
    ): Promise<ControllerFence> => {
      const result = await harness.settle(election(of).elect(brokerId, replacing));
      if (!result.won) throw new Error(`not elected: ${JSON.stringify(result.current)}`);
      return result.fence;
    };
    const reign = (brokerId: number, { controllerEpoch }: ControllerFence): CurrentController => ({
      brokerId,
      controllerEpoch,
    });

    test('the named reign is replaced in one step; its session goes on', async () => {
      const first = await elected(old, 1);
      const seen: (number | undefined)[] = [];
      election(third).watch((current) => seen.push(current?.brokerId));
      await harness.until(() => seen.at(-1) === 1);
      const fence = await elected(second, 2, reign(1, first));
      expect(fence).toEqual({ controllerEpoch: 2, epochVersion: 2 });
      expect(await election(old).current()).toEqual(reign(2, fence));
      expect(await election(old).epoch()).toBe(2);
      await harness.until(() => seen.at(-1) === 2);
      expect(old.status).toBe('connected');
    });

    test('of two that replace the same reign exactly one wins, the other learns who', async () => {
      const first = reign(1, await elected(old, 1));
      const results = await harness.settle(
        Promise.all([election(second).elect(2, first), election(third).elect(3, first)]),
      );
      expect(results.filter((result) => result.won)).toHaveLength(1);
      const current = await election(old).current();
      expect(current?.controllerEpoch).toBe(2);
      expect(results.find((result) => !result.won)).toEqual({ won: false, current });
    });

    test('a later reign is left alone, though its node has the same version', async () => {
      const first = reign(1, await elected(old, 1));
      const fence = await elected(second, 2, first);
      // As one would who was slow: what it means to remove is not there any more.
      const late = await harness.settle(election(third).elect(3, first));
      expect(late).toEqual({ won: false, current: reign(2, fence) });
      // The same broker in a later epoch is another reign, too.
      const again = await elected(old, 1, reign(2, fence));
      const later = await harness.settle(election(third).elect(3, first));
      expect(later).toEqual({ won: false, current: reign(1, again) });
    });

    test('expected version: one that looked before the next election removes nothing after it', async () => {
      const first = reign(1, await elected(old, 1));
      // Between its look and its multi another one wins.
      let overtaken = false;
      const slow = through(third, async (send) => {
        if (!overtaken) await election(second).elect(2, first);
        overtaken = true;
        return send();
      });
      const result = await harness.settle(election(slow).elect(3, first));
      expect(overtaken).toBe(true);
      expect(result).toEqual({ won: false, current: { brokerId: 2, controllerEpoch: 2 } });
      expect(await election(old).current()).toEqual({ brokerId: 2, controllerEpoch: 2 });
    });

    test('one that resigns and is replaced between its look and its multi leaves the next one in office', async () => {
      const fence = await elected(old, 1);
      const slow = through(old, async (send) => {
        await election(second).elect(2, reign(1, fence));
        return send();
      });
      await harness.settle(election(slow).resign(fence));
      expect(await election(old).current()).toEqual({ brokerId: 2, controllerEpoch: 2 });
    });

    test('the old controller that comes back writes nothing and resigns nothing', async () => {
      const fence = await elected(old, 1);
      const topic = {
        topic: 'orders',
        topicId: 'id-of-orders-00000001',
        assignment: [[1, 2, 3]],
        configs: {},
      };
      await createTopicStore(old, harness.clock, silentLogger).create(topic);
      const next = await elected(second, 2, reign(1, fence));
      const state = {
        topic: topic.topic,
        topicId: topic.topicId,
        partition: 0,
        leader: 1,
        leaderEpoch: 0,
        controllerEpoch: fence.controllerEpoch,
        isr: [1],
        eligibleLeaders: [],
      };
      const write = createPartitionStateStore(old).write(fence, [
        { state, expectedPartitionEpoch: undefined },
      ]);
      await expect(harness.settle(write)).rejects.toMatchObject({
        code: 'STALE_CONTROLLER_EPOCH',
        outcome: 'not written',
      });
      await harness.settle(election(old).resign(fence));
      expect(await election(old).current()).toEqual(reign(2, next));
      expect(await harness.settle(election(old).elect(1))).toEqual({
        won: false,
        current: reign(2, next),
      });
    });

    test('a vacant office is taken as ever; nobody named, nobody replaced', async () => {
      const first = await elected(old, 1);
      expect(await harness.settle(election(second).elect(2))).toMatchObject({ won: false });
      await harness.settle(election(old).resign(first));
      expect(await elected(second, 2, reign(1, first))).toEqual({
        controllerEpoch: 2,
        epochVersion: 2,
      });
    });

    test('a lost reply is read back: the pre-empter knows that it won', async () => {
      const first = reign(1, await elected(old, 1));
      let lost = 0;
      const deaf = through(second, async (send) => {
        await send();
        lost += 1;
        throw new TributaryError('COORDINATOR_UNAVAILABLE', 'the reply was lost', {
          outcome: 'maybe written',
        });
      });
      expect(await elected(deaf, 2, first)).toEqual({ controllerEpoch: 2, epochVersion: 2 });
      expect(lost).toBe(1);
      expect(await election(old).epoch()).toBe(2);
    });

    test('a request that was lost is not repeated: what was known of that reign may be over', async () => {
      const first = reign(1, await elected(old, 1));
      const cut = through(second, async () => {
        throw new TributaryError('COORDINATOR_UNAVAILABLE', 'the connection broke', {
          outcome: 'maybe written',
        });
      });
      const result = await harness.settle(election(cut).elect(2, first));
      expect(result).toEqual({ won: false, current: first });
    });
  });
}
