/** When a broker takes office, and when it must not. The election answers when the test says so. */
import { seededRandom, silentLogger } from '@tributary/common';
import type {
  ControllerElection,
  CurrentController,
  ElectionResult,
} from '@tributary/coordination';
import { SimulatedClock } from '@tributary/testkit';
import { defaultControlLimits as limits } from '../control-limits';
import { BegunEpochs } from '../control/begun-epochs';
import type { Controller } from './controller';
import { ControllerElector } from './controller-elector';

const fenceOf = (controllerEpoch: number) => ({ controllerEpoch, epochVersion: controllerEpoch });

class Candidate {
  readonly clock = new SimulatedClock();
  /** Attempts that wait for their answer: the reign that was to be replaced, if any. */
  readonly attempts: { replacing: CurrentController | undefined; answer(result: ElectionResult): void }[] = []; // prettier-ignore
  readonly terms: { epoch: number; stopped: boolean; asked: string[]; resigned(why: string): void }[] = []; // prettier-ignore
  readonly elector: ControllerElector;
  private current: CurrentController | undefined;
  private onChange: (current: CurrentController | undefined) => void = () => undefined;

  constructor() {
    const { clock } = this;
    const read = async (): Promise<number> => 0;
    this.elector = new ControllerElector({
      brokerId: 1,
      election: this.election(),
      epochs: new BegunEpochs({ clock, logger: silentLogger, read, withinMs: 500 }),
      clock,
      random: seededRandom(7),
      logger: silentLogger,
      limits,
      makeController: ({ controllerEpoch: epoch }, resigned) => {
        const asked: string[] = [];
        const term = { epoch, stopped: false, asked, resigned };
        this.terms.push(term);
        const stop = (): void => void (term.stopped = true);
        const resign = (why: string): void => void asked.push(why);
        return { start: async () => undefined, stop, resign } as unknown as Controller;
      },
      onFollow: () => undefined,
    });
  }

  /** @param current what a look would find. */
  seen(current: CurrentController, told: CurrentController): void {
    this.current = current;
    this.onChange(told);
  }

  async answer(result: ElectionResult): Promise<void> {
    this.attempts.shift()?.answer(result);
    await this.clock.advance(0);
  }

  private election(): ControllerElection {
    return {
      elect: (_brokerId, replacing) =>
        new Promise((answer) => this.attempts.push({ replacing, answer })),
      epoch: async () => 0,
      resign: async () => undefined,
      current: async () => this.current,
      watch: (onChange) => {
        this.onChange = onChange;
        return { stop: () => undefined };
      },
    };
  }
}

describe('a candidate for the office', () => {
  it('that wins is in office until its session ends', async () => {
    const one = new Candidate();
    one.elector.enable();
    await one.clock.advance(0);
    await one.answer({ won: true, fence: fenceOf(1) });
    expect(one.elector.controller).toBeDefined();
    one.elector.disable();
    expect(one.elector.controller).toBeUndefined();
    expect(one.terms).toMatchObject([{ epoch: 1, stopped: true }]);
  });

  it('that won in a session that is over takes no office by it, and stands again in the next one', async () => {
    const one = new Candidate();
    one.elector.enable();
    await one.clock.advance(0);
    one.elector.disable();
    one.elector.enable();
    await one.answer({ won: true, fence: fenceOf(1) });
    expect(one.terms).toEqual([]);
    await one.clock.advance(0);
    await one.answer({ won: true, fence: fenceOf(2) });
    expect(one.terms).toMatchObject([{ epoch: 2, stopped: false }]);
  });

  it('in office looks again when the watch tells of another one, and resigns if that is so', async () => {
    const one = new Candidate();
    one.elector.enable();
    await one.clock.advance(0);
    await one.answer({ won: true, fence: fenceOf(1) });
    const another = { brokerId: 2, controllerEpoch: 2 };
    // A watch may be late, and tell what is over.
    one.seen({ brokerId: 1, controllerEpoch: 1 }, another);
    await one.clock.advance(0);
    expect(one.terms[0]?.asked).toEqual([]);
    one.seen(another, another);
    await one.clock.advance(0);
    expect(one.terms[0]?.asked).toEqual(['another controller is in office']);
  });

  it('that has resigned gives others a moment: until then it neither stands nor replaces anybody', async () => {
    const one = new Candidate();
    one.elector.enable();
    await one.clock.advance(0);
    await one.answer({ won: true, fence: fenceOf(1) });
    one.terms[0]?.resigned('most brokers are silent');
    await one.elector.preempt({ brokerId: 2, controllerEpoch: 2 });
    await one.clock.advance(limits.resignPauseMs - 1);
    expect(one.attempts).toEqual([]);
    await one.clock.advance(1);
    expect(one.attempts).toMatchObject([{ replacing: undefined }]);
  });

  it('replaces the reign that is named, and no other', async () => {
    const one = new Candidate();
    one.elector.enable();
    await one.clock.advance(0);
    await one.answer({ won: false, current: { brokerId: 2, controllerEpoch: 4 } });
    const reign = { brokerId: 2, controllerEpoch: 4 };
    void one.elector.preempt(reign);
    expect(one.attempts).toMatchObject([{ replacing: reign }]);
    await one.answer({ won: true, fence: fenceOf(5) });
    expect(one.terms).toMatchObject([{ epoch: 5 }]);
  });
});
