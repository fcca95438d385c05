/**
 * The broker's side of the control stream: decides whose stream counts, hands it to a session, and is the way to
 * the controller for everything in this broker.
 *
 * Invariants: a stream of a lower controller epoch than the highest ever seen is refused (KAFKA-1188), as is
 * one meant for another life of this broker (KIP-380); the newest accepted stream replaces the one before. No
 * epoch that never began keeps the true controllers out (begun-epochs.ts).
 * Implements PartitionAlterer. Called by Broker and, through its handler, by the transport.
 */
import { TributaryError, type Clock, type Logger, type Timer } from '@tributary/common';
import {
  answerHello,
  bidiHandler,
  methods,
  toWireError,
  type Acceptor,
  type CallContext,
  type ControlDown,
  type ControllerAnswer,
  type ControllerHello,
  type ControlUpInput,
  type Handler,
  type MessageStream,
  type OfflineReplica,
  type PartitionState,
  type RestoredReplica,
} from '@tributary/protocol';
import type { ControlLimits } from '../control-limits';
import type { MetadataCache } from '../metadata/metadata-cache';
import type {
  ControllerAccess,
  ControllerCommand,
  IsrChange,
  PartitionAlterer,
  ReplicaHost,
} from '../seams';
import type { BegunEpochs } from './begun-epochs';
import { EarlyHellos } from './early-hellos';
import { ControlSession } from './control-session';
import type { ControllerStream } from './controller-stream';

export interface ControlReceiverOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: ControlLimits;
  readonly metadata: MetadataCache;
  readonly epochs: BegunEpochs;
  readonly acceptor: () => Acceptor;
  readonly host: () => ReplicaHost;
  /** The newest stream came up, or broke; not called for one that a newer one replaced. */
  onStream?(event: 'up' | 'down'): void;
  /** A controller of this epoch spoke: every lower one is over. */
  onEpoch?(controllerEpoch: number): void;
}

type ControlStream = MessageStream<ControlUpInput, ControlDown>;

interface Accepted {
  readonly stream: ControlStream;
  readonly session: ControlSession;
}

export class ControlReceiver implements PartitionAlterer, ControllerAccess {
  private current: Accepted | undefined;
  private highestEpoch = -1;
  /** The coordinator knows of it: no need to ask whether that was made up. */
  private begunEpoch = -1;
  private lastHeardAt: number | undefined;
  private lastStreamEpoch: number | undefined;
  private knownBrokerEpoch = 0;
  private readonly earlyHellos: EarlyHellos;
  private timer: Timer | undefined;
  private heartbeats = 0;
  private wasReady = false;
  private isClosed = false;

  constructor(private readonly options: ControlReceiverOptions) {
    this.earlyHellos = new EarlyHellos(options.clock, options.limits.earlyHelloMs);
    this.arm();
  }

  get handler(): Handler {
    return bidiHandler(methods.control.session, (stream, context) => this.accept(stream, context));
  }

  /** An image of the newest stream is in force. */
  get ready(): boolean {
    return this.current?.session.ready ?? false;
  }

  /** An image came in this registration, be its stream up or not. */
  get imaged(): boolean {
    return this.ready || this.wasReady;
  }

  /** The newest that was accepted, be it up or not. */
  get newestStream(): ControllerStream | undefined {
    const { current, lastStreamEpoch } = this;
    const controllerEpoch = current?.session.options.controllerEpoch ?? lastStreamEpoch;
    const lastHeardAt = current?.session.lastHeardAt ?? this.lastHeardAt;
    if (controllerEpoch === undefined || lastHeardAt === undefined) return undefined;
    return { controllerEpoch, isUp: current !== undefined, lastHeardAt };
  }

  /** Lower epochs are over: a controller that was deposed while this broker was away is refused. */
  registered(controllerEpoch: number): void {
    this.highestEpoch = Math.max(this.highestEpoch, controllerEpoch);
    this.begunEpoch = Math.max(this.begunEpoch, controllerEpoch);
    this.earlyHellos.release();
  }

  /** Of the controller whose stream is up. */
  get controllerId(): number | undefined {
    return this.current?.session.options.controllerId;
  }

  /** Since a controller was last heard; Infinity before the first. */
  get silentForMs(): number {
    const heardAt = this.current?.session.lastHeardAt ?? this.lastHeardAt;
    return heardAt === undefined ? Infinity : this.options.clock.now() - heardAt;
  }

  alterPartition(change: IsrChange): Promise<PartitionState> {
    return this.withSession((session) => session.alterPartition(change));
  }

  replicaFailed(replica: OfflineReplica): void {
    const session = this.current?.session;
    if (session?.ready) session.replicasOffline([replica]);
  }

  replicaRestored(replica: RestoredReplica): void {
    const session = this.current?.session;
    if (session?.ready) session.replicasRestored([replica]);
  }

  askController(command: ControllerCommand, timeoutMs: number): Promise<ControllerAnswer> {
    return this.withSession((session) => session.command(command, timeoutMs));
  }

  controlledShutdown(timeoutMs: number): Promise<number> {
    return this.withSession((session) => session.controlledShutdown(timeoutMs));
  }

  /** This broker's registration ended: what was said to that life does not count any more. */
  dropStream(why: string): void {
    const { current } = this;
    this.forget(why);
    this.wasReady = false;
    current?.stream.cut(new TributaryError('FENCED_BROKER_EPOCH', why));
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
    this.earlyHellos.release();
    const { current } = this;
    this.forget('this broker stops');
    current?.stream.cut(new TributaryError('UNAVAILABLE', 'this broker stops'));
  }

  private withSession<T>(use: (session: ControlSession) => Promise<T>): Promise<T> {
    const session = this.current?.session;
    if (session?.ready) return use(session);
    const message = 'there is no control stream to this broker now';
    return Promise.reject(new TributaryError('UNAVAILABLE', message));
  }

  private accept(stream: ControlStream, context: CallContext): void {
    let accepted: Accepted | undefined;
    let isHeld = false;
    const { clock, limits } = this.options;
    const noHello = clock.setTimer(limits.helloTimeoutMs, () => {
      stream.cut(new TributaryError('TIMEOUT', 'the controller did not say hello in time'));
    });
    stream.handle({
      onMessage: (message) => {
        if (accepted) return accepted.session.onMessage(message);
        noHello.cancel();
        if (isHeld) return;
        const greet = (): void => {
          if (!stream.closed) accepted = this.greet(stream, message, context);
        };
        const isEarly = this.isEarly(message);
        const isDoubtful = !isEarly && this.isDoubtful(message);
        isHeld = isEarly || isDoubtful;
        if (isEarly) this.earlyHellos.hold(greet);
        else if (isDoubtful) void this.checkHighest().then(greet);
        else greet();
      },
      onEnd: () => stream.end(),
      onClose: (error) => {
        noHello.cancel();
        if (!accepted || accepted !== this.current) return;
        this.forget(error?.message ?? 'it was ended');
        this.options.onStream?.('down');
      },
    });
  }

  /** Of a registration that this broker does not know of yet. */
  private isEarly({ hello }: ControlDown): boolean {
    const own = this.options.acceptor().brokerEpoch;
    this.knownBrokerEpoch = Math.max(this.knownBrokerEpoch, own);
    return (hello?.expectedBrokerEpoch ?? 0) > this.knownBrokerEpoch;
  }

  /** Refused for an epoch of which only some stream has told. */
  private isDoubtful({ hello, controllerEpoch }: ControlDown): boolean {
    return !!hello && controllerEpoch < this.highestEpoch && this.begunEpoch < this.highestEpoch;
  }

  /** Forgets the highest epoch seen, and the stream that told of it, if it never began. */
  private async checkHighest(): Promise<void> {
    const { epochs } = this.options;
    const newest = await epochs.newest();
    if (newest === undefined) return;
    this.begunEpoch = Math.max(this.begunEpoch, newest);
    const claimed = this.highestEpoch;
    if (claimed <= this.begunEpoch) return;
    epochs.noteMadeUp(claimed, newest);
    this.highestEpoch = this.begunEpoch;
    const { current } = this;
    if (!current || current.session.options.controllerEpoch <= this.begunEpoch) return;
    const message = `controller epoch ${claimed} never began`;
    current.stream.cut(new TributaryError('INVALID_ARGUMENT', message));
  }

  private greet(
    stream: ControlStream,
    message: ControlDown,
    context: CallContext,
  ): Accepted | undefined {
    const { controllerEpoch } = message;
    try {
      const { hello, controllerId, expectedBrokerEpoch } = requireHello(message);
      const self = this.options.acceptor();
      const answer = answerHello(hello, self);
      this.checkEpochs(controllerEpoch, expectedBrokerEpoch, self.brokerEpoch);
      const session = this.replace(stream, controllerId, controllerEpoch, self.brokerEpoch);
      const host = this.options.host();
      const told = { replicas: host.localReplicas(), ...host.toldLives() };
      stream.send({ hello: { hello: answer, ...told }, body: 'hello' });
      const { peer } = context;
      this.options.logger.debug('control stream', { controllerId, controllerEpoch, peer });
      return session;
    } catch (thrown) {
      // Said as a message, so that the controller learns it in order, before the stream ends.
      stream.send({ error: toWireError(thrown), body: 'error' });
      stream.end();
      return undefined;
    }
  }

  private checkEpochs(controllerEpoch: number, expected: number, own: number): void {
    if (this.isClosed) throw new TributaryError('UNAVAILABLE', 'this broker stops');
    if (controllerEpoch < this.highestEpoch) {
      throw new TributaryError(
        'STALE_CONTROLLER_EPOCH',
        `controller epoch ${controllerEpoch} is over: ${this.highestEpoch} was seen`,
      );
    }
    if (own === 0 || expected !== own) {
      throw new TributaryError(
        'FENCED_BROKER_EPOCH',
        `broker epoch ${expected} was expected, this is ${own || 'not registered'}`,
      );
    }
    this.highestEpoch = controllerEpoch;
    this.options.onEpoch?.(controllerEpoch);
  }

  private replace(
    stream: ControlStream,
    controllerId: number,
    controllerEpoch: number,
    brokerEpoch: number,
  ): Accepted {
    const { clock, metadata, host, limits } = this.options;
    const before = this.current;
    this.forget('a newer control stream came');
    before?.stream.cut(new TributaryError('UNAVAILABLE', 'a newer control stream came'));
    const { alterPartitionTimeoutMs } = limits;
    const session = new ControlSession(stream, {
      controllerId,
      controllerEpoch,
      brokerEpoch,
      clock,
      metadata,
      host: host(),
      alterPartitionTimeoutMs,
    });
    this.current = { stream, session };
    this.lastStreamEpoch = controllerEpoch;
    this.options.onStream?.('up');
    return this.current;
  }

  private forget(why: string): void {
    const { current } = this;
    if (!current) return;
    this.lastHeardAt = current.session.lastHeardAt;
    this.wasReady ||= current.session.ready;
    this.current = undefined;
    current.session.end(why);
  }

  private arm(): void {
    const { clock, limits } = this.options;
    this.timer = clock.setTimer(limits.heartbeatIntervalMs, () => {
      this.arm();
      this.heartbeats += 1;
      this.current?.session.heartbeat(this.heartbeats);
    });
  }
}

function requireHello(
  message: ControlDown,
): ControllerHello & { readonly hello: NonNullable<ControllerHello['hello']> } {
  const { hello } = message;
  if (!hello?.hello) {
    throw new TributaryError('INVALID_ARGUMENT', 'a control stream begins with a hello');
  }
  if (hello.controllerId < 0 || hello.hello.senderBrokerId !== hello.controllerId) {
    const message = `controller ${hello.controllerId} does not name itself as the sender`;
    throw new TributaryError('INVALID_ARGUMENT', message);
  }
  return { ...hello, hello: hello.hello };
}
