/**
 * What clients and operators are told of a replica that is offline: which, where, why, what to do. To a client it is
 * a STORAGE_ERROR whatever the cause, because it is worth another try: where there is another replica, that one
 * leads within moments. Called by Partition.
 */
import { hasCode, TributaryError } from '@tributary/common';
import type { PartitionLog } from '@tributary/log';

interface OfflineFacts {
  readonly name: string;
  readonly brokerId: number;
  readonly damaged: boolean;
  readonly reason: string;
  readonly cause: TributaryError | undefined;
}

export function offlineError(facts: OfflineFacts): TributaryError {
  const { name, brokerId, damaged, reason, cause } = facts;
  const state = damaged ? 'damaged' : 'offline';
  const message = `${name} is ${state} on broker ${brokerId}: ${reason}`;
  return new TributaryError('STORAGE_ERROR', message, {
    hint: hintOf(facts),
    cause,
    outcome: cause?.outcome,
    details: cause?.details,
  });
}

/** Without what the log says before it: who shows it says that better. */
export function bareReason(name: string, message: string): string {
  const prefix = `${name} is offline on this broker: `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}

function hintOf({ name, brokerId, damaged }: OfflineFacts): string {
  if (!damaged) return `Check the disk of broker ${brokerId}, then restart that broker.`;
  const dash = name.lastIndexOf('-');
  const partition = `${name.slice(0, dash)} ${name.slice(dash + 1)}`;
  return (
    `It is refilled from another replica that leads. Where there is none: ` +
    `trib partition accept-loss ${partition} --broker ${brokerId} drops what is damaged.`
  );
}

/** The bytes are not what was written, as opposed to a disk that does not answer. */
export function isDamage(error: TributaryError, log: PartitionLog): boolean {
  return hasCode(error, 'CORRUPT_LOG') || (!!log.failure && hasCode(log.failure, 'CORRUPT_LOG'));
}
