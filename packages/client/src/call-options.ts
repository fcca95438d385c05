/** What bounds a call of the SDK. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Default: the client's requestTimeoutMs. */
  readonly timeoutMs?: number;
}

export interface CloseOptions {
  /** How long to finish what was begun. Default 5000. */
  readonly timeoutMs?: number;
}
