/**
 * Exit code 0 when the broker of this container is ready, else 1 and the reasons. Called by HEALTHCHECK, with the same
 * environment as the broker.
 */
import { get } from 'node:http';

const TIMEOUT_MS = 2500;
const port = process.env['TRIBUTARY_HTTP_PORT'] ?? '9392';

function fail(reason: string): void {
  process.stdout.write(`${reason}\n`);
  process.exitCode = 1;
}

const request = get(
  { host: '127.0.0.1', port, path: '/readyz', timeout: TIMEOUT_MS },
  (response) => {
    let body = '';
    response.on('data', (chunk) => (body += String(chunk)));
    response.on('end', () => {
      if (response.statusCode !== 200) fail(body.trim());
    });
  },
);
request.on('timeout', () => request.destroy(new Error('no answer')));
request.on('error', (error) => fail(error.message));
