import { TributaryError } from '@tributary/common';
import { refusalOf } from './print-result';

const result = (partition: number, error?: TributaryError) => ({
  ...{ topic: 'orders', topicId: 'T', partition, error },
});
const away = new TributaryError('UNKNOWN_BROKER', 'orders-1: broker 9 is not registered');

describe('partitions that were refused', () => {
  test('none, and one: it stands for itself', () => {
    expect(refusalOf([result(0)])).toBeUndefined();
    expect(refusalOf([result(0), result(1, away)])).toBe(away);
  });

  test('several are all named, up to a screenful', () => {
    const other = new TributaryError('UNKNOWN_PARTITION', 'there is no such partition');
    expect(refusalOf([result(0), result(1, away), result(7, other)])).toMatchObject({
      code: 'UNKNOWN_BROKER',
      message:
        '2 of 3 partitions were refused: orders-1: broker 9 is not registered; orders-7: there is no such partition',
    });
    const many = Array.from({ length: 13 }, (_, partition) => result(partition, other));
    expect(refusalOf(many)?.message).toMatch(/orders-9: there is no such partition; and 3 more$/);
  });
});
