import { SimulatedClock, settle } from '@tributary/testkit';
import type {
  ControlDown,
  ControlUpInput,
  Delta,
  ImageChunk,
  LocalReplica,
  MessageStream,
  OfflineReplica,
  RestoredReplica,
  StopResult,
} from '@tributary/protocol';
import { MetadataCache } from '../metadata/metadata-cache';
import { ControlSession, maxReplicasPerMessage } from './control-session';
import { maxPendingControlRequests, PendingRequests } from './pending-requests';

/** A session on a stream that writes down what is sent. */
class Session {
  readonly clock = new SimulatedClock();
  readonly sent: string[] = [];
  readonly metadata = new MetadataCache();
  cut: string | undefined;
  release: () => void = () => undefined;
  isSlow = false;
  offline: OfflineReplica[] = [];
  restored: RestoredReplica[] = [];
  readonly session: ControlSession;

  constructor() {
    const stream: MessageStream<ControlUpInput, ControlDown> = {
      send: (message) => {
        this.sent.push(describeUp(message));
        return true;
      },
      end: () => undefined,
      cut: (error) => {
        this.cut = error?.message;
      },
      pause: () => undefined,
      resume: () => undefined,
      handle: () => undefined,
      closed: false,
    };
    this.session = new ControlSession(stream, {
      controllerId: 1,
      controllerEpoch: 7,
      brokerEpoch: 102,
      clock: this.clock,
      metadata: this.metadata,
      alterPartitionTimeoutMs: 5_000,
      host: {
        apply: async () => {
          if (this.isSlow) await new Promise<void>((resolve) => (this.release = resolve));
        },
        stopReplicas: async (requests): Promise<StopResult[]> =>
          requests.map(({ topicId, partition }) => ({
            topicId,
            partition,
            dataDeleted: true,
            error: null,
          })),
        resignAll: () => undefined,
        leaderships: () => [],
        endLeadership: () => undefined,
        localReplicas: (): LocalReplica[] => [],
        toldLives: () => ({ previousStop: 'NEVER_RAN' as const }),
        setCatchUpRate: () => undefined,
        offlineReplicas: () => this.offline,
        restoredReplicas: () => this.restored,
        setBrokerEpoch: () => undefined,
        setIsolated: () => undefined,
      },
    });
  }

  image(sequence: number): void {
    const image: ImageChunk = {
      sequence,
      chunk: 0,
      last: true,
      controllerId: 1,
      brokers: [],
      topics: [],
      partitions: [],
    };
    this.session.onMessage({ image, body: 'image', controllerEpoch: 7 });
  }

  delta(sequence: number, changes: Partial<Delta> = {}): void {
    const delta: Delta = {
      sequence,
      brokers: [],
      removedBrokers: [],
      topics: [],
      removedTopicIds: [],
      partitions: [],
      stopReplicas: [],
      ...changes,
    };
    this.session.onMessage({ delta, body: 'delta', controllerEpoch: 7 });
  }
}

function describeUp(message: ControlUpInput): string {
  if (message.ack) return `ack ${Number(message.ack.sequence)}`;
  if (message.heartbeat) return `heartbeat ${Number(message.heartbeat.id)}`;
  if (message.replicasStopped) return `stopped ${message.replicasStopped.results?.length}`;
  if (message.replicasOffline) return `offline ${message.replicasOffline.replicas?.length}`;
  if (message.replicasRestored) return `restored ${message.replicasRestored.replicas?.length}`;
  return message.body ?? 'nothing';
}

describe('ControlSession', () => {
  it('tells every controller which replicas are offline, and which are restored, before it acknowledges the image, a message at a time', async () => {
    const session = new Session();
    session.offline = Array.from({ length: maxReplicasPerMessage + 1 }, (_, partition) => ({
      topicId: 'T',
      partition,
      reason: 'EIO',
      incident: 1,
    }));
    session.restored = [{ topicId: 'T', partition: 7, incident: 1 }];
    session.image(3);
    await settle();
    expect(session.sent).toEqual(['restored 1', 'offline 1000', 'offline 1', 'ack 3']);
  });

  it('puts image and deltas in force in their sequence and acknowledges each after it is', async () => {
    const session = new Session();
    expect(session.session.ready).toBe(false);
    session.image(3);
    session.delta(4);
    await settle();
    expect(session.sent).toEqual(['ack 3', 'ack 4']);
    expect(session.session.ready).toBe(true);
    expect(session.metadata.image.sequence).toBe(4);
    expect(session.cut).toBeUndefined();
  });

  it('an ISR change is answered after the deltas that came before the answer, also while they are put in force', async () => {
    const session = new Session();
    session.image(3);
    await settle();
    session.isSlow = true;
    session.delta(4);
    const change = {
      topic: 'orders',
      topicId: 'T',
      partition: 0,
      leaderEpoch: 0,
      partitionEpoch: 0,
    };
    const answered = session.session
      .alterPartition({ ...change, isr: [{ brokerId: 1, brokerEpoch: 102 }] })
      .then(
        () => session.sent.push('altered'),
        (error: Error) => session.sent.push(error.message),
      );
    session.session.onMessage({
      alterPartitionResult: { requestId: 1, error: null, outcome: 'error' },
      body: 'alterPartitionResult',
      controllerEpoch: 7,
    });
    await settle();
    expect(session.sent).toEqual(['ack 3', 'alterPartition']);
    session.release();
    await answered;
    expect(session.sent.slice(2)).toEqual([
      'ack 4',
      'the controller answered with neither state nor error',
    ]);
  });

  it('a gap in the sequence, or a delta before any image, ends the stream', async () => {
    const session = new Session();
    expect(() => session.delta(1)).toThrow('delta 1 after no image');
    session.image(3);
    expect(() => session.delta(5)).toThrow('delta 5 after 3');
  });

  it('a slow disk holds up acknowledgements, not heartbeats', async () => {
    const session = new Session();
    session.isSlow = true;
    session.image(3);
    const heartbeat = { id: 9, answer: false };
    session.session.onMessage({ heartbeat, body: 'heartbeat', controllerEpoch: 7 });
    await settle();
    expect(session.sent).toEqual(['heartbeat 9']);
    session.release();
    await settle();
    expect(session.sent).toEqual(['heartbeat 9', 'ack 3']);
  });

  it('what waits when the stream ends is never put in force', async () => {
    const session = new Session();
    session.isSlow = true;
    session.image(3);
    session.delta(4);
    session.session.end('replaced');
    session.release();
    await settle();
    expect(session.metadata.image.sequence).toBe(3);
    expect(session.sent).toEqual([]);
  });

  it('confirms stopped replicas', async () => {
    const session = new Session();
    session.image(3);
    const stop = { topic: 'orders', topicId: 'x', partition: 0, leaderEpoch: 0, brokerEpoch: 102 };
    session.delta(4, { stopReplicas: [{ ...stop, deleteData: true }] });
    await settle();
    expect(session.sent).toEqual(['ack 3', 'ack 4', 'stopped 1']);
  });

  it('another controller epoch within a stream is refused', () => {
    const session = new Session();
    const heartbeat = { id: 1, answer: false };
    expect(() =>
      session.session.onMessage({ heartbeat, body: 'heartbeat', controllerEpoch: 6 }),
    ).toThrow('epoch');
  });

  it('an ISR change without an answer is TIMEOUT: unknown; also when the stream ends', async () => {
    const session = new Session();
    const change = { topic: 'orders', topicId: 'x', partition: 0, leaderEpoch: 0, isr: [] };
    const late = session.session.alterPartition({ ...change, partitionEpoch: 0 });
    await expect(session.clock.settleWithin(late, 6_000)).rejects.toMatchObject({
      code: 'TIMEOUT',
    });
    const broken = session.session.alterPartition({ ...change, partitionEpoch: 0 });
    session.session.end('broken');
    await expect(broken).rejects.toMatchObject({ code: 'TIMEOUT' });
  });
});

describe('PendingRequests', () => {
  it('is bounded', async () => {
    const pending = new PendingRequests<number>(new SimulatedClock());
    const waiting = Array.from({ length: maxPendingControlRequests }, (_, id) =>
      pending.add(id, 1_000, 'x'),
    );
    await expect(pending.add(-1, 1_000, 'x')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    for (let id = 0; id < waiting.length; id += 1) pending.take(id)?.resolve(id);
    expect(await waiting[7]).toBe(7);
    expect(pending.take(7)).toBeUndefined();
  });
});
