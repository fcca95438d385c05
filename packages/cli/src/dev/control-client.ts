/** Asks the supervisor of a development cluster. Called by `trib dev status|kill|start|down`. */
import { isErrorCode, TributaryError } from '@tributary/common';
import { readState } from './cluster-state';
import type { ControlRequest } from './control-server';

const TIMEOUT_MS = 70_000;

/** undefined: no supervisor lives there. */
export async function askSupervisor(directory: string, request: ControlRequest): Promise<unknown> {
  const state = readState(directory);
  if (!state) return undefined;
  let response: Response;
  try {
    response = await fetch(`http://127.0.0.1:${state.controlPort}/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${state.token}` },
      body: JSON.stringify(request),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') {
      throw new TributaryError('TIMEOUT', `the supervisor did not answer within ${TIMEOUT_MS} ms`);
    }
    return undefined; // it died without removing its state file
  }
  if (response.status === 403) return undefined; // somebody else has that port now
  const body = (await response.json()) as { error?: Record<string, unknown> };
  if (!response.ok) throw remoteError(body.error ?? {});
  return body;
}

/** As `askSupervisor`, but no supervisor is an error. */
export async function requireSupervisor(
  directory: string,
  request: ControlRequest,
): Promise<unknown> {
  const answer = await askSupervisor(directory, request);
  if (answer !== undefined) return answer;
  throw new TributaryError('UNAVAILABLE', `no development cluster runs in ${directory}`, {
    hint: 'Start one with trib dev up, or name its folder with --data.',
  });
}

function remoteError(error: Record<string, unknown>): TributaryError {
  const { code, message, hint } = error;
  return new TributaryError(
    typeof code === 'string' && isErrorCode(code) ? code : 'INTERNAL',
    typeof message === 'string' ? message : 'the supervisor failed',
    typeof hint === 'string' ? { hint } : {},
  );
}
