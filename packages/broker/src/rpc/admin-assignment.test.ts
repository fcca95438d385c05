import { seededRandom } from '@tributary/common';
import { spreadReplicas } from './admin-assignment';

describe('spreadReplicas', () => {
  it('spreads leaders and replicas evenly, each replica on a broker of its own', () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const brokerIds = [1, 2, 3, 7, 9].slice(0, 1 + (seed % 5));
      const replicationFactor = 1 + (seed % brokerIds.length);
      const partitions = brokerIds.length * 4;
      const assignment = spreadReplicas(
        { brokerIds, partitions, replicationFactor },
        seededRandom(seed),
      );
      expect(assignment).toHaveLength(partitions);
      const leaders = new Map<number, number>();
      const replicas = new Map<number, number>();
      for (const list of assignment) {
        expect(new Set(list).size).toBe(replicationFactor);
        leaders.set(list[0]!, (leaders.get(list[0]!) ?? 0) + 1);
        for (const id of list) replicas.set(id, (replicas.get(id) ?? 0) + 1);
      }
      expect([...leaders.values()]).toEqual(brokerIds.map(() => 4));
      expect([...replicas.values()]).toEqual(brokerIds.map(() => 4 * replicationFactor));
    }
  });

  it('does not give all followers of a leader to the same broker', () => {
    const assignment = spreadReplicas(
      { brokerIds: [1, 2, 3], partitions: 12, replicationFactor: 2 },
      seededRandom(1),
    );
    const followersOf1 = new Set(assignment.filter(([leader]) => leader === 1).map((l) => l[1]));
    expect(followersOf1.size).toBe(2);
  });
});
