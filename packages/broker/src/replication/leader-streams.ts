/**
 * The handlers of Replication/Follow and /CatchUp and their fences: which follower may open a stream here, and which partition it may
 * attach. Invariant: hello by cluster, broker id and broker epoch; attach by topic id, leader epoch and
 * assignment; a registered follower that knows a higher leader epoch ends this broker's leadership. Called by ReplicaManager.
 */
import { TributaryError, type Clock, type Logger } from '@tributary/common';
import {
  answerHello,
  bidiHandler,
  type Acceptor,
  type Attach,
  type ClientHello,
  type Handler,
  type ServerHelloInput,
} from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import type { Partition } from '../partition/partition';
import type { DataLimits } from './data-limits';
import { absence, leaderHint } from './image-view';
import { CatchUpThrottle } from './catch-up-throttle';
import { LeaderStream, type Follower, type LeaderStreamHost, type Shown } from './leader-stream';
import { streamMethods, type StreamKind } from './stream-kind';

export interface LeaderStreamsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: DataLimits;
  readonly acceptor: () => Acceptor;
  readonly image: () => MetadataImage | undefined;
  readonly find: (topicId: string, partition: number) => Partition | undefined;
  readonly interBrokerListener: string;
}

export class LeaderStreams implements LeaderStreamHost {
  readonly clock: Clock;
  readonly limits: DataLimits;
  readonly throttle: CatchUpThrottle;
  private readonly streams = new Set<LeaderStream>();

  constructor(private readonly options: LeaderStreamsOptions) {
    this.clock = options.clock;
    this.limits = options.limits;
    this.throttle = new CatchUpThrottle(options.clock, options.limits.catchUpBytesPerSecond, true);
  }

  get handlers(): readonly Handler[] {
    return [this.handlerFor('replication'), this.handlerFor('catch-up')];
  }

  private handlerFor(kind: StreamKind): Handler {
    return bidiHandler(streamMethods[kind], (stream) => {
      const opened: LeaderStream = new LeaderStream(stream, kind, this, () => {
        this.streams.delete(opened);
      });
      this.streams.add(opened);
    });
  }

  greet(hello: ClientHello): ServerHelloInput {
    const answer = answerHello(hello, this.options.acceptor());
    const { senderBrokerId, brokerEpoch } = hello;
    const known = this.options.image()?.broker(senderBrokerId);
    if (senderBrokerId < 0 || brokerEpoch <= 0) {
      throw new TributaryError('INVALID_ARGUMENT', 'a follower names its broker id and epoch');
    }
    if (!known) {
      throw new TributaryError('UNKNOWN_BROKER', `broker ${senderBrokerId} is not known here yet`);
    }
    if (brokerEpoch < known.brokerEpoch) {
      const message = `broker ${senderBrokerId} is in epoch ${known.brokerEpoch}, not ${brokerEpoch}`;
      throw new TributaryError('FENCED_BROKER_EPOCH', message);
    }
    // A newer epoch than the image's is let in: it joins no ISR before the image has it, too.
    return answer;
  }

  partitionFor(attach: Attach, follower: Follower): Partition {
    const { brokerId: followerId } = follower;
    const { interBrokerListener: listener } = this.options;
    const image = this.options.image();
    const partition = this.options.find(attach.topicId, attach.partition);
    if (!partition) throw absence(image, attach, listener);
    const { state } = partition;
    if (state.role === 'leader' && attach.leaderEpoch > state.leaderEpoch) {
      const reason = `broker ${followerId} knows leader epoch ${attach.leaderEpoch}`;
      this.shown(partition, attach.leaderEpoch, { follower, reason });
    }
    const leader = partition.requireLeader(attach.leaderEpoch, () =>
      leaderHint(image, attach, listener),
    );
    if (attach.leaderEpoch !== leader.leaderEpoch) {
      throw new TributaryError('INVALID_ARGUMENT', 'an attach names its leader epoch');
    }
    if (!leader.replicas.includes(followerId)) {
      const message = `broker ${followerId} is not in the assignment of ${partition.name}`;
      throw new TributaryError('INELIGIBLE_REPLICA', message);
    }
    return partition;
  }

  /** One that the controller has not told of yet is believed no more than a client (ADR 22): it may never have registered. */
  shown(partition: Partition, leaderEpoch: number, { follower, reason }: Shown): void {
    const { brokerId, brokerEpoch } = follower;
    if (this.options.image()?.broker(brokerId)?.brokerEpoch !== brokerEpoch) {
      return partition.doubt();
    }
    this.options.logger.info('leadership ended', { partition: partition.name, reason });
    partition.resign(reason, leaderEpoch);
  }

  close(): void {
    const error = new TributaryError('UNAVAILABLE', 'this broker stops');
    for (const stream of [...this.streams]) stream.cut(error);
    this.throttle.close();
  }
}
