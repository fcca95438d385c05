/**
 * Names of partition directories: `orders-3` in use, `orders-3.<topic id>-delete` on its way out,
 * `orders-3.<topic id>-stray` set aside. A name has at most 255 bytes, so a long topic name is cut in the latter
 * two: there the topic id tells which it was.
 */
import { parsePartitionName, partitionName, type TopicPartition } from '@tributary/common';

const NAME_BYTES_MAX = 255;
const ASIDE = /^(.+)\.([A-Za-z0-9_-]{22})-(delete|stray)$/;

export type AsideKind = 'delete' | 'stray';

export interface AsideName extends TopicPartition {
  readonly topicId: string;
  readonly kind: AsideKind;
}

export function asideName({ topic, partition, topicId, kind }: AsideName): string {
  const suffix = `.${topicId}-${kind}`;
  const cut = NAME_BYTES_MAX - suffix.length - partitionName('', partition).length;
  return `${partitionName(topic.slice(0, cut), partition)}${suffix}`;
}

export function parseAsideName(name: string): AsideName | undefined {
  const [, partitionText, topicId, kind] = ASIDE.exec(name) ?? [];
  const parsed = partitionText === undefined ? undefined : parsePartitionName(partitionText);
  if (!parsed || topicId === undefined) return undefined;
  return { ...parsed, topicId, kind: kind as AsideKind };
}
