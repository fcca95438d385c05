/** The process that opens a log directory, tells what that took, and closes it cleanly again. Started by open-bench. */
import { openDirectory } from './opened-log';
import type { OpenSample } from './open-bench';

const KIB_PER_MIB = 1024;

async function main(directory: string): Promise<void> {
  const started = performance.now();
  const store = await openDirectory(directory);
  const ready = performance.now();
  const sample: OpenSample = {
    seconds: (ready - started) / 1000,
    mib: process.resourceUsage().maxRSS / KIB_PER_MIB,
    processSeconds: ready / 1000,
    partitions: store.logs().length,
  };
  process.stdout.write(`${JSON.stringify(sample)}\n`);
  await store.close({ clean: true, brokerEpoch: 1 });
}

main(process.argv[2] as string).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
});
