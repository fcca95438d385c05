/**
 * Elections that a person has asked for and whose writes are on their way: each is answered once, when the last of its
 * partitions is written or lost. Part of `step`. Called by the election command and where writes come back.
 */
import { partitionKey, TributaryError } from '@tributary/common';
import { toWireError } from '@tributary/protocol';
import type { ControllerDraft } from './controller-draft';
import type { Election } from './controller-state';

export function beginElection(draft: ControllerDraft, election: Election): void {
  if (election.waiting.size === 0) return answer(draft, election);
  draft.change({ elections: [...draft.state.elections, election] });
}

/** What was written, or what came in between. */
export function settleElections(
  draft: ControllerDraft,
  topicId: string,
  partition: number,
  error: TributaryError | undefined,
): void {
  const { elections } = draft.state;
  if (elections.length === 0) return;
  const key = partitionKey(topicId, partition);
  const settled = elections.map((election) => settle(election, key, error));
  for (const election of settled) if (election.waiting.size === 0) answer(draft, election);
  draft.change({ elections: settled.filter(({ waiting }) => waiting.size > 0) });
}

/** When the controller resigns: nobody knows what became of the rest. */
export function answerElections(draft: ControllerDraft): void {
  const message = 'the controller resigned while it was writing';
  const error = new TributaryError('TIMEOUT', message, { outcome: 'maybe written' });
  for (const election of draft.state.elections) {
    const lost = [...election.waiting.keys()].reduce(
      (rest, key) => settle(rest, key, error),
      election,
    );
    answer(draft, lost);
  }
  draft.change({ elections: [] });
}

function settle(election: Election, key: string, error: TributaryError | undefined): Election {
  const index = election.waiting.get(key);
  if (index === undefined) return election;
  const waiting = new Map(election.waiting);
  waiting.delete(key);
  const { answers } = election;
  const before = answers[index];
  if (!error || !before) return { ...election, waiting };
  return {
    ...election,
    waiting,
    answers: answers.with(index, { ...before, error: toWireError(error) }),
  };
}

function answer(draft: ControllerDraft, { brokerId, requestId, answers }: Election): void {
  const electedLeaders = { partitions: [...answers] };
  const said = { electedLeaders, outcome: 'electedLeaders' } as const;
  draft.effectAfter({ type: 'answer-command', brokerId, requestId, answer: said });
}
