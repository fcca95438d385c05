/**
 * When a topic has so many partitions that watching each of them closely would cost more than the cluster itself does, on
 * a machine that they share. Used by the load and by who watches the cluster.
 */
const MANY_PARTITIONS = 200;
const MANY_MIN_BYTES = 16 * 1024;

export function isMany(partitions: number): boolean {
  return partitions > MANY_PARTITIONS;
}

/** What a fetch waits for: each one names all partitions of a leader, and would end with the first record of any of them. */
export function fetchMinBytes(partitions: number): number {
  return isMany(partitions) ? MANY_MIN_BYTES : 1;
}
