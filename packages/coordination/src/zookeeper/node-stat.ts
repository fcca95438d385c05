/**
 * The 64-bit numbers of ZooKeeper's stat. Transaction ids are safe integers as long as the ensemble has held fewer than
 * two million leader elections; asserted.
 */
import { assertSafeInteger } from '@tributary/common';
import type { NodeStat } from '../coordinator';

export interface WireStat {
  readonly version: number;
  readonly cversion: number;
  readonly czxid: Buffer;
  readonly mzxid: Buffer;
  readonly ephemeralOwner: Buffer;
}

export function nodeStat(stat: WireStat): NodeStat {
  const owner = stat.ephemeralOwner.toString('hex');
  return {
    version: stat.version,
    childrenVersion: stat.cversion,
    czxid: transactionId(stat.czxid),
    mzxid: transactionId(stat.mzxid),
    ephemeralOwner: /^0+$/.test(owner) ? undefined : owner,
  };
}

function transactionId(bytes: Buffer): number {
  const value = Number(bytes.readBigUInt64BE());
  assertSafeInteger(value, 'transaction id');
  return value;
}
