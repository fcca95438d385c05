/**
 * What every process of ours does about signals and about defects. Called by the entry points.
 */
import { fatalLine } from './fatal';

/** A defect ends the process with one line: going on with unknown state would be worse. */
export function guardProcess(who: string): void {
  const die = (thrown: unknown): void => {
    const where = thrown instanceof Error ? (thrown.stack?.split('\n')[1]?.trim() ?? '') : '';
    process.stderr.write(`${fatalLine(`${who} failed ${where}`.trim(), thrown)}\n`);
    process.exit(1);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
}

/** Once for the first SIGTERM, SIGINT or SIGHUP; the second ends the process at once. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): void {
  let signalled = false;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (signalled) process.exit(1);
      signalled = true;
      stop(signal);
    });
  }
}
