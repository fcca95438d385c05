import { replicationFactor } from './image-view';

describe('the replication factor by which a default min ISR goes', () => {
  const of = (replicas: number[], addingReplicas: number[] = [], removingReplicas: number[] = []) =>
    replicationFactor({ replicas, addingReplicas, removingReplicas });

  it('is the count of replicas where nothing is moved', () => {
    expect(of([1, 2, 3])).toBe(3);
  });

  it('stays what it was while replicas are added: nobody waits for the new ones', () => {
    expect(of([1], [2, 3])).toBe(1);
    expect(of([1, 2, 3], [2, 3])).toBe(1);
  });

  it('stays what it was until those that go are left out', () => {
    expect(of([1, 2, 3], [], [2, 3])).toBe(3);
    expect(of([1], [], [2, 3])).toBe(1);
  });

  it('of replicas that are replaced never counts both', () => {
    expect(of([4, 5, 1, 2], [4, 5], [1, 2])).toBe(2);
    expect(of([4, 5], [4, 5], [1, 2])).toBe(2);
  });
});
