import {
  DeviceSlotsTable,
  READS_PER_DEVICE,
  REMOVALS_PER_DEVICE,
  SYNCS_PER_DEVICE,
} from './node-disk-device';

/** Calls that never end, as on a device that does not answer; how many of them began. */
function hang(run: (call: () => Promise<void>) => Promise<void>, calls: number): number {
  let began = 0;
  for (let call = 0; call < calls; call += 1) {
    void run(() => {
      began += 1;
      return new Promise<void>(() => undefined);
    });
  }
  return began;
}

test('a device that hangs keeps a few threads, for syncs and for reads; another one goes on', async () => {
  const devices = new DeviceSlotsTable();
  expect(hang((call) => devices.of(1).syncs.run(call), 100)).toBe(SYNCS_PER_DEVICE);
  expect(hang((call) => devices.of(1).reads.run(call), 100)).toBe(READS_PER_DEVICE);
  await expect(devices.of(2).syncs.run(() => Promise.resolve('synced'))).resolves.toBe('synced');
  await expect(devices.of(2).reads.run(() => Promise.resolve('read'))).resolves.toBe('read');
});

test('removals that hang leave slots for syncs', async () => {
  const { removals, syncs } = new DeviceSlotsTable().of(1);
  expect(hang((call) => removals.run(() => syncs.run(call)), 100)).toBe(REMOVALS_PER_DEVICE);
  await expect(syncs.run(() => Promise.resolve('synced'))).resolves.toBe('synced');
});

test('three devices that hang leave threads of the pool for the others', () => {
  expect(3 * (SYNCS_PER_DEVICE + READS_PER_DEVICE)).toBeLessThan(32);
});
