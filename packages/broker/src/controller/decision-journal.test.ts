import { DecisionJournal, maxJournalEntries } from './decision-journal';

describe('DecisionJournal', () => {
  it('keeps the newest, and no more than its limit', () => {
    const journal = new DecisionJournal();
    const count = 3 * maxJournalEntries + 7;
    for (let at = 0; at < count; at += 1) {
      journal.add({ at, controllerEpoch: 1, who: 'broker 1', what: 'failed', why: 'refused' });
    }
    const entries = journal.list();
    expect(entries).toHaveLength(maxJournalEntries);
    expect(entries.at(-1)?.at).toBe(count - 1);
  });
});
