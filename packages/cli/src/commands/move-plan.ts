/** Which partitions shall have which replicas, out of a file or out of one list of brokers. Pure. Called by `topic reassign`. */
import type { PartitionMove } from '@tributary/client';
import { TributaryError } from '@tributary/common';

/** Each partition begins with another broker, so that the first one does not lead them all. */
export function rotatedMoves(
  topic: string,
  partitions: number,
  replicas: readonly number[],
): PartitionMove[] {
  return Array.from({ length: partitions }, (_, partition) => {
    const first = partition % replicas.length;
    return { topic, partition, replicas: [...replicas.slice(first), ...replicas.slice(0, first)] };
  });
}

/** The form that Kafka's reassignment tool writes and reads, too: fields beyond these three are passed over. */
export function movesOfPlan(text: string, file: string): PartitionMove[] {
  let plan: unknown;
  try {
    plan = JSON.parse(text);
  } catch (cause) {
    throw invalidPlan(file, 'it is no JSON', cause);
  }
  const partitions = isObject(plan) ? plan['partitions'] : undefined;
  if (!Array.isArray(partitions)) throw invalidPlan(file, 'it has no list "partitions"');
  return partitions.map((entry: unknown, index) => {
    const move = moveOf(entry);
    if (move) return move;
    throw invalidPlan(file, `entry ${index + 1} of "partitions" is not what it should be`);
  });
}

function moveOf(entry: unknown): PartitionMove | undefined {
  if (!isObject(entry)) return undefined;
  const { topic, partition, replicas } = entry;
  if (typeof topic !== 'string' || !isId(partition)) return undefined;
  if (!Array.isArray(replicas) || !replicas.every(isId)) return undefined;
  return { topic, partition, replicas };
}

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function invalidPlan(file: string, why: string, cause?: unknown): TributaryError {
  return new TributaryError('INVALID_ARGUMENT', `--file ${file}: ${why}`, {
    hint: 'It is { "partitions": [{ "topic": "orders", "partition": 0, "replicas": [1, 2, 3] }] }.',
    ...(cause === undefined ? {} : { cause }),
  });
}
