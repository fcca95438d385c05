import { sharedAbort } from './shared-abort';

test('hundreds that wait for the same end are no reason for a warning', async () => {
  const warnings: Error[] = [];
  const listen = (warning: Error): void => void warnings.push(warning);
  process.on('warning', listen);
  const { signal } = sharedAbort();
  for (let i = 0; i < 300; i += 1) signal.addEventListener('abort', () => undefined);
  await new Promise((resolve) => process.nextTick(resolve)); // warnings come in the next tick
  process.off('warning', listen);
  expect(warnings).toEqual([]);
});
