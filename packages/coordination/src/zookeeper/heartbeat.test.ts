import { Heartbeat } from './heartbeat';

describe('heartbeat of a session of 1,200 ms, ticking each 60', () => {
  const started = () => {
    const heartbeat = new Heartbeat(60, 1_200);
    heartbeat.connected(0);
    return heartbeat;
  };
  const run = (heartbeat: Heartbeat, from: number, to: number) => {
    const actions: [number, string][] = [];
    for (let now = from; now <= to; now += 60) {
      const action = heartbeat.tick(now);
      if (action === 'send') heartbeat.sent(now);
      if (action !== 'none') actions.push([now, action]);
    }
    return actions;
  };

  test('a fresh connection is asked at once, then each quarter of the timeout', () => {
    const heartbeat = started();
    expect(heartbeat.tick(0)).toBe('send');
    heartbeat.sent(0);
    heartbeat.acknowledged();
    expect(run(heartbeat, 60, 300)).toEqual([[300, 'send']]);
  });

  test('no answer within a third of the timeout: another connection', () => {
    const heartbeat = started();
    heartbeat.sent(0);
    expect(run(heartbeat, 60, 400)).toEqual([]);
    expect(heartbeat.tick(420)).toBe('reconnect');
  });

  test('time that this process stood still is not held against the server', () => {
    const heartbeat = started();
    heartbeat.sent(0);
    run(heartbeat, 60, 120);
    expect(heartbeat.tick(2_000)).toBe('none');
    expect(heartbeat.tick(2_060)).toBe('none');
    expect(run(heartbeat, 2_120, 2_600).at(0)).toEqual([2_240, 'reconnect']);
  });
});
