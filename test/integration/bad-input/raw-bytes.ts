/** What reaches a port without a gRPC client: bytes on a TCP connection, and HTTP/2 requests made by hand. */
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';

interface Target {
  readonly host: string;
  readonly port: number;
}

/** No peer keeps a connection of garbage longer than this; otherwise it is left from this side. */
const patienceMs = 1_000;

/** Sends the bytes, and waits until the other side closes the connection. Says whether it did. */
export function sendBytes({ host, port }: Target, bytes: Buffer): Promise<'closed' | 'left open'> {
  return new Promise((resolve) => {
    const socket = connect({ host, port }, () => socket.write(bytes));
    const timer = setTimeout(() => {
      resolve('left open');
      socket.destroy();
    }, patienceMs);
    socket.resume();
    socket.on('error', () => undefined); // a reset is a close, too
    socket.on('close', () => {
      clearTimeout(timer);
      resolve('closed');
    });
  });
}

/** One request; the headers and trailers of its answer. */
export function sendHttp2(
  { host, port }: Target,
  headers: Record<string, string>,
  body: Buffer,
): Promise<IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`http://${host}:${port}`);
    session.on('error', reject);
    const request = session.request({ ':method': 'POST', te: 'trailers', ...headers });
    const answer: IncomingHttpHeaders = {};
    request.on('response', (received) => void Object.assign(answer, received));
    request.on('trailers', (received) => void Object.assign(answer, received));
    request.on('error', reject);
    request.on('close', () => {
      session.destroy();
      resolve(answer);
    });
    request.resume();
    request.end(body);
  });
}

/** A gRPC message in its frame; `claimedBytes` may lie. */
export function grpcFrame(message: Buffer, claimedBytes = message.length, compressed = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(compressed, 0);
  prefix.writeUInt32BE(claimedBytes, 1);
  return Buffer.concat([prefix, message]);
}
