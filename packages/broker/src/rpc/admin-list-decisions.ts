/** Admin.ListDecisions: what this broker decided as controller in this life. Called through `adminHandlers`. */
import type { ListDecisionsRequest, ListDecisionsResponseInput } from '@tributary/protocol';
import type { DecisionJournal } from '../controller/decision-journal';

export interface ListDecisionsOptions {
  readonly brokerId: number;
  readonly journal: DecisionJournal;
}

export function listDecisions(
  { brokerId, journal }: ListDecisionsOptions,
  { maxEntries }: ListDecisionsRequest,
): ListDecisionsResponseInput {
  const entries = journal.list();
  const newest = maxEntries > 0 ? entries.slice(-maxEntries) : entries;
  const decisions = newest.map(({ at, controllerEpoch, who, what, why }) => ({
    ...{ controllerEpoch, who, what, why },
    atMs: at,
  }));
  return { brokerId, decisions };
}
