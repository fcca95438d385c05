import { seededRandom, silentLogger } from '@tributary/common';
import { describeTransportContract } from '../contracts/transport-contract';
import { SimulatedClock } from './simulated-clock';
import { SimulatedNetwork } from './simulated-network';

describeTransportContract('simulated network', () => {
  const clock = new SimulatedClock();
  const errorsLogged: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => void errorsLogged.push(message) };
  const network = new SimulatedNetwork({ clock, random: seededRandom(7), logger });
  return {
    transport: (machineName) => network.transport(machineName),
    until: async (condition) => {
      if (!(await clock.runUntil(condition, 60_000))) throw new Error('not within a minute');
    },
    errorsLogged,
    close: async () => undefined,
  };
});
