import { checkCompaction } from './compacted-keys';
import { History } from './history';

function written(): History {
  const history = new History();
  ['a', 'b', 'a', 'b'].forEach((key, id) => {
    history.write(0, id, id, key).result = { fate: 'acknowledged', offset: id, at: id + 1 };
  });
  history.write(0, 4, 4, 'a').result = { fate: 'unknown', at: 9, code: 'TIMEOUT' };
  return history;
}

function read(history: History, key: string, id: number, offset = id): void {
  history.finalReads.push({ partition: 0, offset, id, key });
}

describe('C10', () => {
  test('the last value of each key survives, earlier ones may; an unknown write may be the last', () => {
    const history = written();
    read(history, 'a', 0);
    read(history, 'b', 3);
    read(history, 'a', 4);
    expect(checkCompaction(history)).toEqual({ keys: 2, lostKeys: 0, misplaced: 0, examples: [] });
  });

  test('a key whose last value is gone, or older again, is lost', () => {
    const history = written();
    read(history, 'a', 0);
    expect(checkCompaction(history)).toMatchObject({ lostKeys: 2, misplaced: 0 });
  });

  test('what survives keeps its offset, its key and its order', () => {
    const history = written();
    read(history, 'a', 2, 1);
    read(history, 'b', 3);
    read(history, 'b', 0, 5);
    read(history, 'a', 4, 4);
    expect(checkCompaction(history)).toMatchObject({ misplaced: 3 });
  });

  test('a value that nobody wrote, or that was refused for sure, is misplaced', () => {
    const history = written();
    history.write(0, 5, 5, 'b').result = { fate: 'not written', at: 6, code: 'DISK_FULL' };
    read(history, 'a', 2);
    read(history, 'b', 3);
    read(history, 'b', 5);
    read(history, 'c', 77);
    expect(checkCompaction(history)).toMatchObject({ lostKeys: 0, misplaced: 2 });
  });
});
