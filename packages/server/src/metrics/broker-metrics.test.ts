import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrokerStatus } from '@tributary/broker';
import { BrokerMetrics } from './broker-metrics';

const status: BrokerStatus = {
  brokerId: 1,
  clusterId: 'c',
  listeners: [],
  registered: true,
  brokerEpoch: 5,
  isController: true,
  controllerId: 1,
  controllerEpoch: 7,
  imageSequence: 3,
  isolated: false,
  coordinatorStatus: 'connected',
  notReadyReasons: ['the image is old'],
  partitions: [
    { topic: 'a', topicId: 'A', partition: 0, role: 'leader', leaderEpoch: 1, logStartOffset: 2, logEndOffset: 12, highWatermark: 10 },
    { topic: 'a', topicId: 'A', partition: 1, role: 'leader', leaderEpoch: 1, logStartOffset: 0, logEndOffset: 5, highWatermark: 5 },
    { topic: 'b', topicId: 'B', partition: 0, role: 'follower', leaderEpoch: 1, logStartOffset: 0, logEndOffset: 9, highWatermark: 9, outage: 'refilling' },
  ],
}; // prettier-ignore

async function scrape(metrics: BrokerMetrics): Promise<string[]> {
  return (await metrics.text()).text.split('\n');
}

test('what an alert needs is there, under the documented names', async () => {
  const logDirectories = () => [
    {
      path: '/a',
      failure: undefined,
      partitions: 3,
      freeBytes: 17,
      compaction: { passes: 2, failures: 0, recordsDropped: 9, bytesFreed: 512 },
    },
    { path: '/b', failure: 'gone', partitions: 0, freeBytes: 0 },
  ];
  const metrics = new BrokerMetrics({
    status: () => status,
    freeDiskBytes: () => 42,
    logDirectories,
  });
  expect(await scrape(metrics)).toEqual(
    expect.arrayContaining([
      'tributary_broker_registered 1',
      'tributary_broker_ready 0',
      'tributary_broker_isolated 0',
      'tributary_controller_active 1',
      'tributary_controller_epoch 7',
      'tributary_zookeeper_connected 1',
      'tributary_zookeeper_session_expiries_total 0',
      'tributary_replicas{role="leader"} 2',
      'tributary_replicas{role="follower"} 1',
      'tributary_replicas{role="offline"} 0',
      'tributary_replicas_offline{why="failed"} 0',
      'tributary_replicas_offline{why="damaged"} 0',
      'tributary_replicas_offline{why="refilling"} 1',
      'tributary_topic_committed_records{topic="a"} 15',
      'tributary_disk_free_bytes 42',
      'tributary_log_directory_online{directory="/a"} 1',
      'tributary_log_directory_online{directory="/b"} 0',
      'tributary_log_directory_free_bytes{directory="/a"} 17',
      'tributary_log_directory_replicas{directory="/a"} 3',
      'tributary_compaction_passes_total{directory="/a"} 2',
      'tributary_compaction_passes_total{directory="/b"} 0',
      'tributary_compaction_freed_bytes_total{directory="/a"} 512',
    ]),
  );
});

test('before the broker runs every flag is 0', async () => {
  const lines = await scrape(new BrokerMetrics({ status: () => undefined }));
  expect(lines).toContain('tributary_broker_registered 0');
  expect(lines.some((line) => line.startsWith('tributary_nodejs_eventloop_lag_p99_seconds'))).toBe(
    true,
  );
});

test('docs/operation.md names every metric of ours', async () => {
  const docs = readFileSync(join(__dirname, '../../../../docs/operation.md'), 'utf8');
  const sources = { status: () => status, freeDiskBytes: () => 1, logDirectories: () => [] };
  const lines = await scrape(new BrokerMetrics(sources));
  const names = lines.flatMap((line) => /^# HELP (\S+)/.exec(line)?.[1] ?? []);
  const own = names.filter((name) => !/^tributary_(process|nodejs)_/.test(name));
  expect(own.length).toBeGreaterThan(10);
  expect(own.filter((name) => !docs.includes(`\`${name}`))).toEqual([]);
});
