/**
 * A broker process whose disk and wall clock obey the runner: the production broker with two ports wrapped. Started by
 * ChaosCluster in place of the broker's own entry point.
 */
import { systemClock, type Clock } from '@tributary/common';
import { NodeDisk } from '@tributary/log';
import { diskParts, runBroker } from '@tributary/server';
import { FAULTS_FILE, readFaults } from './faults';
import { FaultyDisk } from './faulty-disk';

const file = process.env[FAULTS_FILE] ?? '';
let faults = readFaults(file);
process.on('SIGUSR2', () => {
  faults = readFaults(file);
});

const clock: Clock = {
  now: () => systemClock.now(),
  wallTime: () => systemClock.wallTime() + faults.clockOffsetMs,
  setTimer: (delayMs, fire, options) => systemClock.setTimer(delayMs, fire, options),
};
const disk = new FaultyDisk(new NodeDisk(), () => faults);

void runBroker(process.argv.slice(2), process.env, (config, logger) =>
  diskParts(config, logger, { clock, disk }),
);
