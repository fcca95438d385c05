/**
 * Names of partition directories: `orders-3` in use, `orders-3.<topic id>-delete` on its way out,
 * `orders-3.<topic id>-stray` set aside, `orders-3.<topic id>-damaged` set aside to be refilled, `-stray2` and so on where
 * there is one already. A name has at most 255 bytes, so a long topic name is cut in those: there the topic id tells
 * which it was.
 */
import { parsePartitionName, partitionName, type TopicPartition } from '@tributary/common';

const NAME_BYTES_MAX = 255;
const ASIDE = /^(.+)\.([A-Za-z0-9_-]{22})-(delete|stray|damaged)([2-9]|[1-9][0-9]+)?$/;

export type AsideKind = 'delete' | 'stray' | 'damaged';

export interface AsideName extends TopicPartition {
  readonly topicId: string;
  readonly kind: AsideKind;
  /** Default 1: the first of its kind. */
  readonly copy?: number;
}

export function asideName({ topic, partition, topicId, kind, copy = 1 }: AsideName): string {
  const suffix = `.${topicId}-${kind}${copy > 1 ? copy : ''}`;
  const cut = NAME_BYTES_MAX - suffix.length - partitionName('', partition).length;
  return `${partitionName(topic.slice(0, cut), partition)}${suffix}`;
}

export function parseAsideName(name: string): AsideName | undefined {
  const [, partitionText, topicId, kind, copy] = ASIDE.exec(name) ?? [];
  const parsed = partitionText === undefined ? undefined : parsePartitionName(partitionText);
  if (!parsed || topicId === undefined) return undefined;
  return { ...parsed, topicId, kind: kind as AsideKind, copy: Number(copy ?? 1) };
}
