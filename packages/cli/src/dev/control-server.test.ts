import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TributaryError } from '@tributary/common';
import { readState, removeState, writeState } from './cluster-state';
import { askSupervisor, requireSupervisor } from './control-client';
import { ControlServer, type ControlRequest } from './control-server';

let directory = '';
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'control-'))));
afterEach(() => rmSync(directory, { recursive: true }));

async function serve(handle: (request: ControlRequest) => Promise<unknown>) {
  const server = await ControlServer.listen(handle);
  const state = { supervisorPid: process.pid, controlPort: server.port, token: server.token };
  writeState(directory, state);
  return { server, state };
}

test('a command finds the supervisor by its state file and gets its answer', async () => {
  const { server } = await serve(async ({ action, brokerId }) => ({ did: action, brokerId }));
  expect(await requireSupervisor(directory, { action: 'kill', brokerId: 2 })).toEqual({
    did: 'kill',
    brokerId: 2,
  });
  expect(statSync(join(directory, 'supervisor.json')).mode & 0o777).toBe(0o600);
  server.close();
});

test('its errors come over with code and hint', async () => {
  const { server } = await serve(async () => {
    throw new TributaryError('UNKNOWN_BROKER', 'there is no broker 9', { hint: '1, 2, 3' });
  });
  await expect(requireSupervisor(directory, { action: 'kill', brokerId: 9 })).rejects.toMatchObject(
    {
      code: 'UNKNOWN_BROKER',
      message: 'there is no broker 9',
      hint: '1, 2, 3',
    },
  );
  server.close();
});

test('no state file, a dead supervisor, another process on its port: no cluster runs', async () => {
  expect(await askSupervisor(directory, { action: 'status' })).toBeUndefined();
  const { server, state } = await serve(async () => ({}));
  writeState(directory, { ...state, token: 'of another' });
  expect(await askSupervisor(directory, { action: 'status' })).toBeUndefined();
  server.close();
  await expect(requireSupervisor(directory, { action: 'status' })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  removeState(directory);
  expect(readState(directory)).toBeUndefined();
});
