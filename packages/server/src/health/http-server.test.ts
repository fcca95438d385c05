import { Health } from './health';
import { HttpServer } from './http-server';

async function serve(health: Health): Promise<HttpServer> {
  return HttpServer.listen('127.0.0.1', 0, {
    health: () => health.report(),
    metrics: async () => ({ contentType: 'text/plain', text: 'tributary_up 1\n' }),
    version: () => ({ version: '1.2.3' }),
  });
}

test('/readyz lists the checks, with reasons for what is not fine', async () => {
  const health = new Health();
  let reason: string | undefined = 'logs are being recovered';
  health.add('logs', () => reason);
  health.add('listeners', () => undefined);
  const server = await serve(health);
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return { status: response.status, body: await response.text() };
  };
  try {
    const before = await get('/readyz');
    expect(before.status).toBe(503);
    expect(JSON.parse(before.body)).toEqual({
      ready: false,
      checks: [
        { name: 'logs', ok: false, reason: 'logs are being recovered' },
        { name: 'listeners', ok: true },
      ],
    });
    reason = undefined;
    expect((await get('/readyz')).status).toBe(200);
    expect((await get('/livez')).status).toBe(200);
    expect((await get('/metrics')).body).toBe('tributary_up 1\n');
    expect(JSON.parse((await get('/version')).body)).toEqual({ version: '1.2.3' });
    expect((await get('/elsewhere')).status).toBe(404);
  } finally {
    await server.close();
  }
});

test('a check that throws is a check that fails', () => {
  const health = new Health();
  health.add('broken', () => {
    throw new Error('boom');
  });
  expect(health.report()).toMatchObject({
    ready: false,
    checks: [{ reason: 'the check failed: boom' }],
  });
});

test('a port in use is ADDRESS_IN_USE and names the flag', async () => {
  const server = await serve(new Health());
  try {
    await expect(
      HttpServer.listen('127.0.0.1', server.port, {
        health: () => ({ ready: true, checks: [] }),
        metrics: async () => ({ contentType: '', text: '' }),
        version: () => ({}),
      }),
    ).rejects.toMatchObject({ code: 'ADDRESS_IN_USE', details: { port: server.port } });
  } finally {
    await server.close();
  }
});

test('a warning leaves it ready, and is shown', () => {
  const health = new Health();
  health.add('log directories', () => ({ warning: '/b is offline' }));
  expect(health.report()).toEqual({
    ready: true,
    checks: [{ name: 'log directories', ok: true, reason: '/b is offline' }],
  });
});
