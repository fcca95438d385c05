/**
 * The supervisor's ear: an HTTP endpoint on loopback, with a token, through which the other `trib dev` commands ask for
 * the status, kill and start brokers, and end the cluster. Called by `trib dev up`.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TributaryError } from '@tributary/common';

export interface ControlRequest {
  readonly action: 'status' | 'kill' | 'start' | 'down';
  readonly brokerId?: number;
  readonly signal?: string;
}

const MAX_BODY_BYTES = 4096;

export class ControlServer {
  private constructor(
    private readonly server: Server,
    readonly token: string,
  ) {}

  static async listen(
    handle: (request: ControlRequest) => Promise<unknown>,
  ): Promise<ControlServer> {
    const token = randomBytes(16).toString('hex');
    const server = createServer(
      (request, response) => void answer(request, response, token, handle),
    );
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new ControlServer(server, token);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  close(): void {
    this.server.close();
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  token: string,
  handle: (request: ControlRequest) => Promise<unknown>,
): Promise<void> {
  const reply = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(body ?? {}));
  };
  if (request.headers.authorization !== `Bearer ${token}`) return reply(403, {});
  try {
    reply(200, await handle(JSON.parse(await readBody(request)) as ControlRequest));
  } catch (error) {
    reply(500, { error: TributaryError.from(error).toJSON() });
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) {
    body += String(chunk);
    if (body.length > MAX_BODY_BYTES) throw new TributaryError('INVALID_ARGUMENT', 'too long');
  }
  return body;
}
