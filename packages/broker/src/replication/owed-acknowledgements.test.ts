import { OwedAcknowledgements } from './owed-acknowledgements';

describe('what a follower owes its leader', () => {
  it('each push once, with its credit, when the log counts up to its end', () => {
    const owed = new OwedAcknowledgements(10);
    owed.pushed(12, 100, 1);
    expect(owed.take(12)).toEqual({ logEndOffset: 12, markId: 1, creditBytes: 100 });
    expect(owed.take(12)).toBeUndefined();
  });

  it('of several pushes the credit of those that are on the device, the others later', () => {
    const owed = new OwedAcknowledgements(10);
    owed.pushed(12, 100, 1);
    owed.pushed(15, 200, 2);
    owed.pushed(20, 400, 3);
    expect(owed.take(10)).toBeUndefined();
    expect(owed.take(15)).toEqual({ logEndOffset: 15, markId: 3, creditBytes: 300 });
    expect(owed.take(20)).toEqual({ logEndOffset: 20, markId: 3, creditBytes: 400 });
  });

  it('a mark at once, with what counts by then', () => {
    const owed = new OwedAcknowledgements(10);
    owed.pushed(12, 100, 1);
    owed.marked(2);
    expect(owed.take(10)).toEqual({ logEndOffset: 10, markId: 2, creditBytes: 0 });
    expect(owed.take(10)).toBeUndefined();
  });

  it('nothing at all before the device has what the attach named: the leader would take less for an error', () => {
    const owed = new OwedAcknowledgements(10);
    owed.marked(1);
    expect(owed.take(7)).toBeUndefined();
    expect(owed.take(10)).toEqual({ logEndOffset: 10, markId: 1, creditBytes: 0 });
  });

  it('never goes back, where the setting changes from os to sync', () => {
    const owed = new OwedAcknowledgements(10);
    owed.pushed(20, 100, 1);
    expect(owed.take(20)?.logEndOffset).toBe(20);
    owed.marked(2);
    expect(owed.take(12)).toBeUndefined();
    owed.pushed(25, 100, 3);
    expect(owed.take(25)).toEqual({ logEndOffset: 25, markId: 3, creditBytes: 100 });
  });
});
