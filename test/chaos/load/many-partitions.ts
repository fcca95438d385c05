/**
 * When a topic has so many partitions that watching each of them closely would cost more than the cluster itself does, on
 * a machine that they share. Used by the load and by who watches the cluster.
 */
const MANY_PARTITIONS = 200;

export function isMany(partitions: number): boolean {
  return partitions > MANY_PARTITIONS;
}
