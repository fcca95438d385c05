/** What the audit log of an embedded ensemble holds. */
import type { TreeOperation, TreeResult } from './embedded-tree';

export interface EmbeddedTransaction {
  readonly zxid: number;
  /** Whose; undefined: the server's own, when a session ends. */
  readonly sessionId: string | undefined;
  readonly operations: readonly TreeOperation[];
  /** Of each operation. */
  readonly results: readonly TreeResult[];
}
