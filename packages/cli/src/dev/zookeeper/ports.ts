/**
 * Ports on loopback, and ZooKeeper's four-letter words, which tell whether a node serves.
 */
import { connect, createServer, type AddressInfo, type Server } from 'node:net';

export const loopback = '127.0.0.1';

/** Free at the moment of asking; all different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen()));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))),
  );
  return ports;
}

function listen(): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, loopback, () => resolve(server));
  });
}

/** The answer to a four-letter word; empty when there was none. */
export function fourLetterWord(
  { host, port }: { readonly host: string; readonly port: number },
  word: string,
  timeoutMs: number,
): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ port, host });
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.once('connect', () => socket.write(word));
    socket.on('data', (bytes: Buffer) => {
      answer += bytes.toString('latin1');
    });
    socket.once('error', () => undefined); // 'close' follows
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

/** `ruok` says yes too early; `srvr` names a mode only when the node serves requests. */
export async function servingMode(at: {
  readonly host: string;
  readonly port: number;
}): Promise<string | undefined> {
  return /Mode: (\w+)/.exec(await fourLetterWord(at, 'srvr', 500))?.[1];
}
