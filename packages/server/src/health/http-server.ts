/**
 * The HTTP side of a broker: /livez (the event loop turns), /readyz (with reasons), /metrics, /version. It
 * listens before anything else starts, so that a start that takes long can be watched.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TributaryError } from '@tributary/common';
import type { HealthReport } from './health';

export interface HttpSources {
  readonly health: () => HealthReport;
  /** Prometheus text and its content type. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly version: () => Record<string, unknown>;
}

/** A request that takes longer is cut. */
const REQUEST_TIMEOUT_MS = 5000;
const MAX_CONNECTIONS = 64;

export class HttpServer {
  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  /** Throws ADDRESS_IN_USE or INVALID_CONFIG. */
  static async listen(host: string, port: number, sources: HttpSources): Promise<HttpServer> {
    const server = createServer((request, response) => void answer(request, response, sources));
    server.requestTimeout = REQUEST_TIMEOUT_MS;
    server.maxConnections = MAX_CONNECTIONS;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        reject(listenError(error, host, port)),
      );
      server.listen(port, host, resolve);
    });
    return new HttpServer(server, (server.address() as AddressInfo).port);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  sources: HttpSources,
): Promise<void> {
  const path = (request.url ?? '').split('?')[0];
  try {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      json(response, 405, { error: 'only GET is answered here' });
    } else if (path === '/livez') {
      json(response, 200, { live: true });
    } else if (path === '/readyz') {
      const report = sources.health();
      json(response, report.ready ? 200 : 503, report);
    } else if (path === '/version') {
      json(response, 200, sources.version());
    } else if (path === '/metrics') {
      const { contentType, text } = await sources.metrics();
      response.writeHead(200, { 'content-type': contentType }).end(text);
    } else {
      json(response, 404, { error: 'there are /livez, /readyz, /metrics and /version' });
    }
  } catch (error) {
    json(response, 500, { error: (error as Error).message });
  }
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body)}\n`);
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): TributaryError {
  const details = { host, port };
  if (error.code === 'EADDRINUSE') {
    return new TributaryError('ADDRESS_IN_USE', `HTTP port ${port} on ${host} is in use`, {
      details,
      cause: error,
      hint: 'Stop the process that holds the port, or choose another one with --http-port.',
    });
  }
  const message = `cannot listen for HTTP on ${host}:${port}: ${error.message}`;
  return new TributaryError('INVALID_CONFIG', message, {
    details,
    cause: error,
    hint: 'Correct --http-host and --http-port.',
  });
}
