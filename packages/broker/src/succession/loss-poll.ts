/**
 * Asks the other registered brokers whether a controller is lost, until a majority of all that are registered has said so
 * or no longer can. The controller counts as registered; the asker counts as confirming. So two of three confirm by one
 * answer, and where two of three are dead nobody is ever replaced before its session ends.
 * Called by `Preemption`.
 */
import { TributaryError, type Logger } from '@tributary/common';
import type { CurrentController, RegisteredBroker } from '@tributary/coordination';
import type { LossQuestion } from './loss-question';

/** Questions under way at once. */
export const maxQuestionsInFlight = 32;

export interface PollOptions {
  readonly brokerId: number;
  readonly logger: Logger;
  readonly question: LossQuestion;
}

export interface PollResult {
  readonly confirmed: boolean;
  /** Of the asker and those that said yes, lowest first. */
  readonly confirming: readonly number[];
}

export function majorityOf(registered: number): number {
  return Math.floor(registered / 2) + 1;
}

/** Never rejects. */
export async function pollLoss(
  options: PollOptions,
  reign: CurrentController,
  brokers: readonly RegisteredBroker[],
): Promise<PollResult> {
  const { brokerId, logger, question } = options;
  const needed = majorityOf(brokers.length);
  const others = brokers.filter(
    (broker) => broker.brokerId !== brokerId && broker.brokerId !== reign.brokerId,
  );
  const confirming = [brokerId];
  let left = others.length;
  const isDecided = (): boolean => confirming.length >= needed || confirming.length + left < needed;

  return new Promise((resolve) => {
    const decide = (): void => {
      if (!isDecided()) return;
      const confirmed = confirming.length >= needed;
      resolve({ confirmed, confirming: [...confirming].sort((a, b) => a - b) });
    };
    const ask = async (whom: RegisteredBroker): Promise<void> => {
      try {
        const { lost, why } = await question.ask(whom, reign);
        if (lost) confirming.push(whom.brokerId);
        else logger.debug('a broker does not confirm the loss', { brokerId: whom.brokerId, why });
      } catch (thrown) {
        const error = TributaryError.from(thrown);
        logger.debug('a broker does not answer about the controller', { error });
      }
      left -= 1;
      decide();
    };
    const waiting = [...others];
    const lane = async (): Promise<void> => {
      for (let whom = waiting.shift(); whom && !isDecided(); whom = waiting.shift())
        await ask(whom);
    };
    decide();
    for (let index = 0; index < maxQuestionsInFlight; index += 1) void lane();
  });
}
