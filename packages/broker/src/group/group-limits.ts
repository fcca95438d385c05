/** The limits of the broker's side of groups. */
export interface GroupLimits {
  /** Memberships that one broker holds for clients. */
  readonly maxMembers: number;
  /** Calls of one membership that are not answered yet; more are refused with OVERLOADED. */
  readonly maxCallsPerMember: number;
  /** A lease that a client asks for is brought into these bounds. */
  readonly leaseMsMin: number;
  readonly leaseMsMax: number;
  readonly leaseMsDefault: number;
  /** Hello and join must have come by then. */
  readonly joinTimeoutMs: number;
  /** A leave that failed is tried again after this. */
  readonly leaveRetryMs: number;
}

export const groupLimits: GroupLimits = {
  maxMembers: 10_000,
  maxCallsPerMember: 64,
  leaseMsMin: 1_000,
  leaseMsMax: 300_000,
  leaseMsDefault: 10_000,
  joinTimeoutMs: 10_000,
  leaveRetryMs: 1_000,
};
