/** The transport contract on real loopback sockets. */
import { setTimeout as wait } from 'node:timers/promises';
import { silentLogger } from '@tributary/common';
import { GrpcTransport } from '@tributary/protocol';
import { describeTransportContract } from '@tributary/testkit';

const patienceMs = 20_000;

describeTransportContract('gRPC', () => {
  const errorsLogged: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => void errorsLogged.push(message) };
  const transports: GrpcTransport[] = [];
  return {
    transport: () => {
      const transport = new GrpcTransport({ logger });
      transports.push(transport);
      return transport;
    },
    until: async (condition) => {
      const deadline = Date.now() + patienceMs;
      while (!condition()) {
        if (Date.now() > deadline) throw new Error(`not within ${patienceMs} ms`);
        await wait(2);
      }
    },
    errorsLogged,
    close: async () => {
      await Promise.all(transports.map((transport) => transport.close()));
    },
  };
});
