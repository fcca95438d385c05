import { silentLogger } from '@tributary/common';
import { defaultDataLimits } from './data-limits';
import { LiveSettings } from './live-settings';

class Host {
  readonly told: string[] = [];
  readonly logger = silentLogger;
  readonly logStore = {
    setCompactionRate: (rate: number | undefined) => void this.told.push(`compaction ${rate}`),
  };
  setCatchUpRate = (rate: number | undefined): void => void this.told.push(`catch-up ${rate}`);
}

describe('settings of a running broker', () => {
  it('are as configured, then as altered, then as configured again', () => {
    const host = new Host();
    const live = new LiveSettings(
      { ...host, limits: { maxFetchBytes: 5_000 } },
      host.setCatchUpRate,
    );
    const { limits } = live;
    live.apply({
      'fetch.max.bytes': '9000',
      'produce.max.in.flight.bytes': '2000000',
      'replica.lag.time.max.ms': '700',
      'replication.catch.up.bytes.per.second': '4096',
      'compaction.bytes.per.second': '2048',
    });
    expect(limits).toEqual({
      ...defaultDataLimits,
      maxFetchBytes: 9_000,
      maxInFlightBytes: 2_000_000,
      replicaLagTimeMaxMs: 700,
      catchUpBytesPerSecond: 4_096,
    });
    expect(host.told).toEqual(['catch-up 4096', 'compaction 2048']);
    live.apply({});
    expect(limits).toEqual({ ...defaultDataLimits, maxFetchBytes: 5_000 });
    const { catchUpBytesPerSecond } = defaultDataLimits;
    expect(host.told.slice(2)).toEqual([
      `catch-up ${catchUpBytesPerSecond}`,
      'compaction undefined',
    ]);
  });

  it('an image without this broker, or with the same, changes nothing', () => {
    const host = new Host();
    const live = new LiveSettings(host, host.setCatchUpRate);
    live.apply({ 'fetch.max.bytes': '9000' });
    live.apply(undefined);
    live.apply({ 'fetch.max.bytes': '9000' });
    expect(live.limits.maxFetchBytes).toBe(9_000);
    expect(host.told).toHaveLength(2);
  });

  it('one that a newer controller knows is left out', () => {
    const host = new Host();
    const live = new LiveSettings(host, host.setCatchUpRate);
    live.apply({ 'of.a.newer.version': '1', 'fetch.max.bytes': '9000' });
    expect(live.limits.maxFetchBytes).toBe(9_000);
  });
});
