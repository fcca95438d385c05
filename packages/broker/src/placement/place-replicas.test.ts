import { randomInteger, seededRandom } from '@tributary/common';
import { placeReplicas, type PlacementRequest } from './place-replicas';

/** `1a`: broker 1 in rack a; `!1a`: drained. */
function brokers(...names: string[]): PlacementRequest['brokers'] {
  return names.map((name) => ({
    brokerId: Number(/\d+/.exec(name)?.[0]),
    rack: /[a-z]+$/.exec(name)?.[0],
    mayLead: !name.startsWith('!'),
  }));
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** How many of the lists name each broker. */
function countsOf(ids: readonly number[], lists: readonly (readonly number[])[]): number[] {
  return ids.map((id) => lists.filter((list) => list.includes(id)).length);
}

function spreadOf(counts: readonly number[]): number {
  return Math.max(...counts) - Math.min(...counts);
}

function firsts(placed: readonly (readonly number[])[]): number[][] {
  return placed.map((replicas) => replicas.slice(0, 1));
}

/** `perRack` brokers in each of `racks` racks, the ids of one rack not in a row. */
function racked(racks: number, perRack: number): PlacementRequest['brokers'] {
  return range(racks * perRack).map((index) => ({
    brokerId: index + 1,
    rack: `rack-${index % racks}`,
    mayLead: true,
  }));
}

describe('placing replicas', () => {
  it('is the same for the same random numbers, and another for others', () => {
    const request = {
      brokers: brokers('1', '2', '3', '4', '5'),
      partitions: 8,
      replicationFactor: 3,
    };
    const once = placeReplicas(request, seededRandom(1));
    expect(placeReplicas(request, seededRandom(1))).toEqual(once);
    expect(placeReplicas(request, seededRandom(2))).not.toEqual(once);
  });

  it('300 random clusters: replicas are distinct, and replicas and leaders differ by one at most', () => {
    const random = seededRandom(42);
    for (const seed of range(300)) {
      const racks = 1 + randomInteger(random, 4);
      const all = racked(racks, 1 + randomInteger(random, 5));
      const replicationFactor = 1 + randomInteger(random, Math.min(5, all.length));
      const partitions = 1 + randomInteger(random, 40);
      const placed = placeReplicas(
        { brokers: all, partitions, replicationFactor },
        seededRandom(seed),
      );
      const ids = all.map(({ brokerId }) => brokerId);
      const said = { seed, racks, brokers: all.length, replicationFactor, partitions };
      expect(placed).toHaveLength(partitions);
      for (const replicas of placed) {
        expect({ ...said, distinct: new Set(replicas).size }).toEqual({
          ...said,
          distinct: replicationFactor,
        });
        const used = new Set(replicas.map((id) => all[id - 1]?.rack)).size;
        expect({ ...said, used }).toEqual({ ...said, used: Math.min(racks, replicationFactor) });
      }
      expect({ ...said, spread: spreadOf(countsOf(ids, placed)) <= 1 }).toEqual({
        ...said,
        spread: true,
      });
      expect({ ...said, spread: spreadOf(countsOf(ids, firsts(placed))) <= 1 }).toEqual({
        ...said,
        spread: true,
      });
    }
  });

  it('racks of unequal size: a replica in each rack all the same', () => {
    const all = brokers('1a', '2a', '3a', '4b', '5c', '6c');
    const placed = placeReplicas(
      { brokers: all, partitions: 12, replicationFactor: 3 },
      seededRandom(3),
    );
    const racks = placed.map((replicas) =>
      replicas
        .map((id) => all[id - 1]?.rack)
        .sort()
        .join(''),
    );
    expect(new Set(racks)).toEqual(new Set(['abc']));
    expect(countsOf([1, 2, 3], placed)).toEqual([4, 4, 4]);
    expect(spreadOf(countsOf([1, 2, 3, 4, 5, 6], firsts(placed)))).toBeLessThanOrEqual(1);
  });

  it('the followers of one leader are spread, too', () => {
    const all = brokers('1', '2', '3', '4', '5', '6');
    const placed = placeReplicas(
      { brokers: all, partitions: 60, replicationFactor: 2 },
      seededRandom(4),
    );
    const partnersOf1 = placed
      .filter((replicas) => replicas.includes(1))
      .flat()
      .filter((id) => id !== 1);
    expect(new Set(partnersOf1)).toEqual(new Set([2, 3, 4, 5, 6]));
  });

  it('a drained broker gets replicas and comes first nowhere', () => {
    const placed = placeReplicas(
      { brokers: brokers('1', '!2', '3'), partitions: 12, replicationFactor: 2 },
      seededRandom(5),
    );
    expect(countsOf([1, 2, 3], placed)).toEqual([8, 8, 8]);
    expect(countsOf([1, 2, 3], firsts(placed))).toEqual([6, 0, 6]);
  });

  it('where all are drained somebody comes first', () => {
    const placed = placeReplicas(
      { brokers: brokers('!1', '!2'), partitions: 2, replicationFactor: 2 },
      seededRandom(6),
    );
    expect(placed.map((replicas) => [...replicas].sort())).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it('more partitions of a topic go to a broker that has none of it', () => {
    const existing = [
      [1, 2],
      [2, 3],
      [3, 1],
    ];
    const placed = placeReplicas(
      { brokers: brokers('1', '2', '3', '4'), partitions: 2, replicationFactor: 2, existing },
      seededRandom(7),
    );
    expect(countsOf([4], placed)).toEqual([2]);
    expect(firsts(placed)).toContainEqual([4]);
  });

  it('1,000 partitions on 100 brokers: 30 replicas each', () => {
    const placed = placeReplicas(
      { brokers: racked(5, 20), partitions: 1_000, replicationFactor: 3 },
      seededRandom(8),
    );
    const ids = range(100).map((index) => index + 1);
    expect(countsOf(ids, placed)).toEqual(ids.map(() => 30));
    expect(countsOf(ids, firsts(placed))).toEqual(ids.map(() => 10));
  });
});
