/**
 * The Logger port: structured, one line an incident. Level policy: a leader move, a rebalance, a reconnect
 * is info; warn is for what heals by itself but is worth knowing; error only where a person must act.
 * The server passes winston, the SDK the user's logger (default: silent but for warn), tests a recorder.
 */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
