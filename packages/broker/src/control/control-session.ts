/**
 * One control stream, as the broker sees it, after its hello: takes image and deltas in their sequence, puts
 * them in force one after another, acknowledges each when it is; answers heartbeats at once, also while
 * something is being put in force, for a slow disk is no dead broker.
 *
 * Invariants: nothing is applied out of sequence (a gap cuts the stream, and the controller images anew);
 * an acknowledgement means that the data plane has taken the state; after `end` nothing is applied.
 * Made by the receiver for each stream that it accepts.
 */
import { BoundedQueue, TributaryError, type Clock } from '@tributary/common';
import {
  fromWireError,
  type AlterPartitionResult,
  type ControlDown,
  type ControllerAnswer,
  type ControlUpInput,
  type Delta,
  type MessageStream,
  type OfflineReplica,
  type PartitionState,
  type RestoredReplica,
} from '@tributary/protocol';
import type { ClusterImage } from '../metadata/cluster-image';
import type { MetadataCache } from '../metadata/metadata-cache';
import type { ControllerCommand, IsrChange, ReplicaHost } from '../seams';
import { ImageAssembly } from './image-assembly';
import { PendingRequests } from './pending-requests';

export interface ControlSessionOptions {
  readonly controllerId: number;
  readonly controllerEpoch: number;
  readonly brokerEpoch: number;
  readonly clock: Clock;
  readonly host: ReplicaHost;
  readonly metadata: MetadataCache;
  readonly alterPartitionTimeoutMs: number;
}

type Work =
  | { readonly type: 'image'; readonly image: ClusterImage }
  | { readonly type: 'delta'; readonly delta: Delta }
  | { readonly type: 'answer'; readonly settle: () => void };

/** Of one message. */
export const maxReplicasPerMessage = 1_000;
/** Images and deltas that may wait while one is put in force. */
export const maxWaitingUpdates = 10_000;

export class ControlSession {
  lastHeardAt: number;
  private assembly: ImageAssembly | undefined;
  /** Of the newest image or delta received on this stream, applied or waiting. */
  private sequence: number | undefined;
  private readonly work = new BoundedQueue<Work>(maxWaitingUpdates);
  private isWorking = false;
  private isOver = false;
  private isImaged = false;
  private requests = 0;
  private readonly alterations: PendingRequests<PartitionState>;
  /** Those of the alterations that accept a loss. */
  private readonly acceptances = new Set<number>();
  private readonly shutdowns: PendingRequests<number>;
  private readonly commands: PendingRequests<ControllerAnswer>;

  constructor(
    private readonly stream: MessageStream<ControlUpInput, ControlDown>,
    readonly options: ControlSessionOptions,
  ) {
    this.lastHeardAt = options.clock.now();
    this.alterations = new PendingRequests(options.clock);
    this.shutdowns = new PendingRequests(options.clock);
    this.commands = new PendingRequests(options.clock);
  }

  /** An image of this stream is in force: the controller takes requests. */
  get ready(): boolean {
    return this.isImaged && !this.isOver;
  }

  onMessage(message: ControlDown): void {
    this.lastHeardAt = this.options.clock.now();
    if (message.controllerEpoch !== this.options.controllerEpoch) {
      throw new TributaryError(
        'STALE_CONTROLLER_EPOCH',
        'the controller epoch changed in a stream',
      );
    }
    if (message.heartbeat) {
      const { id, answer } = message.heartbeat;
      if (!answer) this.stream.send({ heartbeat: { id, answer: true }, body: 'heartbeat' });
    } else if (message.image) {
      this.assembly ??= new ImageAssembly(this.options.controllerEpoch);
      const image = this.assembly.add(message.image);
      if (image) this.enqueueUpdate({ type: 'image', image }, image.sequence);
    } else if (message.delta) {
      this.takeDelta(message.delta);
    } else if (message.alterPartitionResult) {
      this.takeAlteration(message.alterPartitionResult);
    } else if (message.controlledShutdownResult) {
      const { requestId, stillLeading, error } = message.controlledShutdownResult;
      const waiting = this.shutdowns.take(requestId);
      if (error) waiting?.reject(errorOf(error));
      else waiting?.resolve(stillLeading);
    } else if (message.answer) {
      const waiting = this.commands.take(message.answer.requestId);
      if (message.answer.error) waiting?.reject(errorOf(message.answer.error));
      else waiting?.resolve(message.answer);
    }
  }

  /** The stream is over or replaced. */
  end(why: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.work.drain();
    const error = new TributaryError('TIMEOUT', `the control stream ended: ${why}`);
    this.alterations.failAll(error);
    this.shutdowns.failAll(error);
    this.commands.failAll(error.withOutcome('maybe written'));
  }

  heartbeat(id: number): void {
    if (!this.isOver) this.stream.send({ heartbeat: { id, answer: false }, body: 'heartbeat' });
  }

  alterPartition(change: IsrChange): Promise<PartitionState> {
    const { brokerEpoch, alterPartitionTimeoutMs } = this.options;
    const requestId = (this.requests += 1);
    const { topic, topicId, partition, leaderEpoch, partitionEpoch, isr } = change;
    const { acceptLoss = false } = change;
    const answer = this.alterations.add(requestId, alterPartitionTimeoutMs, 'an ISR change');
    if (acceptLoss) this.acceptances.add(requestId);
    this.stream.send({
      alterPartition: {
        requestId,
        brokerEpoch,
        topic,
        topicId,
        partition,
        leaderEpoch,
        partitionEpoch,
        isr: isr.map((member) => ({ ...member })),
        acceptLoss,
      },
      body: 'alterPartition',
    });
    return answer;
  }

  replicasOffline(replicas: readonly OfflineReplica[]): void {
    for (const some of chunksOf(replicas)) {
      this.stream.send({ replicasOffline: { replicas: some }, body: 'replicasOffline' });
    }
  }

  replicasRestored(replicas: readonly RestoredReplica[]): void {
    for (const some of chunksOf(replicas)) {
      this.stream.send({ replicasRestored: { replicas: some }, body: 'replicasRestored' });
    }
  }

  /** Answers how many partitions this broker still leads. */
  controlledShutdown(timeoutMs: number): Promise<number> {
    const requestId = (this.requests += 1);
    const { brokerEpoch } = this.options;
    const answer = this.shutdowns.add(requestId, timeoutMs, 'a controlled shutdown');
    const controlledShutdown = { requestId, brokerEpoch };
    this.stream.send({ controlledShutdown, body: 'controlledShutdown' });
    return answer;
  }

  /** Passes on what a person asks; the answer comes when it is decided and written. */
  command(command: ControllerCommand, timeoutMs: number): Promise<ControllerAnswer> {
    const requestId = (this.requests += 1);
    const { brokerEpoch } = this.options;
    const answer = this.commands.add(requestId, timeoutMs, 'a command');
    this.stream.send({ request: { ...command, requestId, brokerEpoch }, body: 'request' });
    return answer;
  }

  /**
   * Behind the deltas that came before it: a smaller ISR counts under the min ISR that they told, not the one before. Not so
   * an accepted loss: its partition takes no delta before it has this answer.
   */
  private takeAlteration({ requestId, state, error }: AlterPartitionResult): void {
    const isAcceptance = this.acceptances.delete(requestId);
    const settle = (): void => {
      const waiting = this.alterations.take(requestId);
      if (state) waiting?.resolve(state);
      else waiting?.reject(errorOf(error));
    };
    if (isAcceptance || !this.isWorking) settle();
    else this.enqueue({ type: 'answer', settle });
  }

  private takeDelta(delta: Delta): void {
    if (this.sequence === undefined || delta.sequence !== this.sequence + 1) {
      const after = this.sequence ?? 'no image';
      throw new TributaryError('INVALID_ARGUMENT', `delta ${delta.sequence} after ${after}`);
    }
    this.enqueueUpdate({ type: 'delta', delta }, delta.sequence);
  }

  private enqueueUpdate(work: Work, sequence: number): void {
    this.sequence = sequence;
    this.assembly = undefined;
    this.enqueue(work);
  }

  private enqueue(work: Work): void {
    if (!this.work.push(work)) {
      throw new TributaryError('OVERLOADED', `more than ${maxWaitingUpdates} updates wait`);
    }
    if (!this.isWorking) void this.workOff();
  }

  private async workOff(): Promise<void> {
    this.isWorking = true;
    try {
      for (let work = this.work.shift(); work && !this.isOver; work = this.work.shift()) {
        if (work.type === 'image') await this.putImage(work.image);
        else if (work.type === 'delta') await this.putDelta(work.delta);
        else work.settle();
      }
    } catch (thrown) {
      // A defect: better an image anew than a state that is half in force.
      this.stream.cut(TributaryError.from(thrown));
    }
    this.isWorking = false;
  }

  private async putImage(image: ClusterImage): Promise<void> {
    const { host, metadata } = this.options;
    metadata.replace(image);
    const states = image.topics().flatMap(({ topicId }) => image.partitions(topicId));
    await host.apply(states, image);
    if (this.isOver) return;
    this.isImaged = true;
    // Before the acknowledgement, with which this broker becomes eligible.
    this.replicasRestored(host.restoredReplicas());
    this.replicasOffline(host.offlineReplicas());
    this.acknowledge(image.sequence);
  }

  private async putDelta(delta: Delta): Promise<void> {
    const { host, metadata } = this.options;
    const image = metadata.image.apply(delta);
    metadata.replace(image);
    await host.apply(delta.partitions, image);
    if (this.isOver) return;
    this.acknowledge(delta.sequence);
    // Not waited for: elections must not queue behind the removal of files.
    if (delta.stopReplicas.length > 0) void this.stopReplicas(delta);
  }

  private async stopReplicas(delta: Delta): Promise<void> {
    const results = await this.options.host.stopReplicas(delta.stopReplicas);
    if (!this.isOver) this.stream.send({ replicasStopped: { results }, body: 'replicasStopped' });
  }

  private acknowledge(sequence: number): void {
    this.stream.send({ ack: { sequence }, body: 'ack' });
  }
}

function chunksOf<T>(replicas: readonly T[]): T[][] {
  const count = Math.ceil(replicas.length / maxReplicasPerMessage);
  return Array.from({ length: count }, (_, chunk) =>
    replicas.slice(chunk * maxReplicasPerMessage, (chunk + 1) * maxReplicasPerMessage),
  );
}

function errorOf(wire: Parameters<typeof fromWireError>[0] | null | undefined): TributaryError {
  return wire
    ? fromWireError(wire)
    : new TributaryError('INTERNAL', 'the controller answered with neither state nor error');
}
