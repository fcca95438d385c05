/**
 * Writes of the controller: each multi begins with a check of `/controller_epoch`, so that an old controller's are all
 * refused (KAFKA-6082).
 */
import { hasCode, TributaryError } from '@tributary/common';
import type { Coordinator, MultiOperation, MultiResult } from './coordinator';
import { replyWasLost } from './coordinator-errors';
import { paths } from './layout';
import type { ControllerFence } from './nouns';

/** Results of `operations` alone. Throws STALE_CONTROLLER_EPOCH; `details.index` counts from the first of them. */
export async function fencedMulti(
  coordinator: Coordinator,
  fence: ControllerFence,
  operations: readonly MultiOperation[],
): Promise<MultiResult[]> {
  const check = {
    type: 'check',
    path: paths.controllerEpoch,
    version: fence.epochVersion,
  } as const;
  try {
    return (await coordinator.multi([check, ...operations])).slice(1);
  } catch (error) {
    const index = error instanceof TributaryError ? error.details['index'] : undefined;
    if (!(error instanceof TributaryError) || typeof index !== 'number') throw error;
    if (index === 0) throw staleController(fence);
    const { code, message, outcome, details } = error;
    throw new TributaryError(code, message, { outcome, details: { ...details, index: index - 1 } });
  }
}

/** Throws STALE_CONTROLLER_EPOCH when somebody was elected after this fence. */
export async function checkFence(coordinator: Coordinator, fence: ControllerFence): Promise<void> {
  await coordinator.barrier();
  const node = await coordinator.get(paths.controllerEpoch);
  if (node?.stat.version !== fence.epochVersion) throw staleController(fence);
}

export interface NodeChange {
  readonly path: string;
  readonly data: Buffer;
  /** undefined: the node must not exist yet. */
  readonly expectedVersion: number | undefined;
}

const MAX_ATTEMPTS = 20;

/**
 * Sets these nodes if all of them are as expected, in one multi; answers their new versions. A lost reply is read back.
 * Throws BAD_VERSION when one is not as expected (any more), STALE_CONTROLLER_EPOCH, COORDINATOR_UNAVAILABLE.
 */
export async function fencedCompareAndSet(
  coordinator: Coordinator,
  fence: ControllerFence,
  changes: readonly NodeChange[],
): Promise<number[]> {
  const operations = changes.map(({ path, data, expectedVersion: version }) =>
    version === undefined
      ? ({ type: 'create', path, data } as const)
      : ({ type: 'set', path, data, version } as const),
  );
  const after = changes.map(({ expectedVersion }) =>
    expectedVersion === undefined ? 0 : expectedVersion + 1,
  );
  for (let attempt = 1; ; attempt += 1) {
    try {
      await fencedMulti(coordinator, fence, operations);
      return after;
    } catch (error) {
      if (refusedOperation(error) !== undefined) throw notAsExpected(changes, error);
      if (!replyWasLost(error) || attempt >= MAX_ATTEMPTS) throw error;
      await checkFence(coordinator, fence);
      const first = changes[0];
      const node = first && (await coordinator.get(first.path));
      if (!first || node?.stat.version === first.expectedVersion) continue;
      const isOurs = node && node.stat.version === after[0] && node.data.equals(first.data);
      if (!isOurs) throw notAsExpected(changes, error);
      return after;
    }
  }
}

function notAsExpected(changes: readonly NodeChange[], cause: unknown): TributaryError {
  const where = changes.map(({ path }) => path).join(' or ');
  const message = `somebody else changed ${where} meanwhile`;
  return new TributaryError('BAD_VERSION', message, { outcome: 'not written', cause });
}

/** Index of the operation that was refused; undefined when the error is of another kind. */
export function refusedOperation(error: unknown): number | undefined {
  if (!hasCode(error, 'NO_NODE', 'NODE_EXISTS', 'BAD_VERSION', 'NOT_EMPTY')) return undefined;
  const index = error.details['index'];
  return typeof index === 'number' ? index : undefined;
}

function staleController(fence: ControllerFence): TributaryError {
  return new TributaryError(
    'STALE_CONTROLLER_EPOCH',
    `controller epoch ${fence.controllerEpoch} is over: another controller was elected`,
    { outcome: 'not written', details: { controllerEpoch: fence.controllerEpoch } },
  );
}
