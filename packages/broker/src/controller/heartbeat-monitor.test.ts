import { HeartbeatMonitor } from './heartbeat-monitor';

function heard(brokerId: number, lastHeardAt: number | undefined) {
  return { brokerId, brokerEpoch: 100 + brokerId, lastHeardAt };
}

describe('HeartbeatMonitor', () => {
  it('names who has been silent for longer than the timeout', () => {
    const monitor = new HeartbeatMonitor(500, 3_000, 0);
    for (let now = 500; now <= 3_000; now += 500) {
      expect(monitor.check(now, [heard(1, now), heard(2, 0)])).toEqual([]);
    }
    expect(monitor.check(3_500, [heard(1, 3_000), heard(2, 0)])).toEqual([heard(2, 0)]);
  });

  it('never was heard: not late, for it was never trusted either', () => {
    const monitor = new HeartbeatMonitor(500, 3_000, 0);
    expect(monitor.check(500, [heard(1, undefined)])).toEqual([]);
  });

  it('time in which this process stood still counts against nobody', () => {
    const monitor = new HeartbeatMonitor(500, 3_000, 0);
    monitor.check(500, []);
    expect(monitor.check(20_000, [heard(1, 500)])).toEqual([]);
    for (let now = 20_500; now <= 23_000; now += 500) {
      expect(monitor.check(now, [heard(1, 500)])).toEqual([]);
    }
    expect(monitor.check(23_500, [heard(1, 500)])).toHaveLength(1);
  });
});
