/**
 * One term of office: feeds events one by one through `step` and executes the effects. Does all I/O of the
 * controller and decides nothing itself.
 *
 * Invariants: events are taken in the order of their arrival, one at a time; after `resigned` nothing is
 * written or sent. Made by the elector for each election won.
 */
import { BoundedQueue, type Clock, type Logger, type Random, type Timer } from '@tributary/common';
import { TributaryError } from '@tributary/common';
import type { ControllerFence } from '@tributary/coordination';
import { toWireError, type ControlDownInput, type Transport } from '@tributary/protocol';
import type { ControlLimits } from '../control-limits';
import { ContextReader, type ContextSources } from './context-reader';
import type { AlterOutcome, ControllerEffect, JournalEntry } from './controller-effect';
import type { ControllerEvent, ControllerTimer } from './controller-event';
import { ControllerLinks } from './controller-links';
import type { DecisionJournal } from './decision-journal';
import { deltaMessage, imageChunks } from './image-messages';
import { StateWriter } from './state-writer';
import { initialState, step } from './step';

export interface ControllerOptions {
  readonly brokerId: number;
  readonly clusterId: string;
  readonly fence: ControllerFence;
  readonly sources: ContextSources;
  readonly interBrokerListener: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: ControlLimits;
  readonly journal: DecisionJournal;
  /** Once, by its own decision; not after `stop`. */
  onResigned(why: string): void;
}

type EffectOf<Type> = Extract<ControllerEffect, { readonly type: Type }>;

type SuspectWatch = Extract<ControllerEffect, { type: 'watch-suspect' }>;

/** Events that may wait while effects of another are executed. */
export const maxQueuedEvents = 100_000;

export class Controller {
  private state;
  private readonly queue = new BoundedQueue<ControllerEvent>(maxQueuedEvents);
  private isStepping = false;
  private isStopped = false;
  private readonly timers = new Map<ControllerTimer, Timer>();
  /** By broker id. */
  private readonly suspects = new Map<number, Timer>();
  private readonly links: ControllerLinks;
  private readonly writer: StateWriter;
  private readonly reader: ContextReader;

  constructor(private readonly options: ControllerOptions) {
    const { brokerId, fence, sources } = options;
    const { controllerEpoch } = fence;
    this.state = initialState(brokerId, controllerEpoch);
    const event = (happened: ControllerEvent): void => this.event(happened);
    this.links = new ControllerLinks({
      ...options,
      controllerId: brokerId,
      controllerEpoch,
      event,
    });
    this.writer = new StateWriter(sources.states, fence, {
      written: (outcomes) => event({ type: 'states-written', outcomes }),
      failed: (error) => event({ type: 'write-failed', error }),
    });
    this.reader = new ContextReader(sources, {
      event,
      knownTopics: () => new Set([...this.state.topics.values()].map(({ record }) => record.topic)),
      failed: (error) => this.resign(`the coordinator cannot be read: ${error.message}`),
    });
  }

  get controllerEpoch(): number {
    return this.options.fence.controllerEpoch;
  }

  majoritySilentForMs(): number {
    return this.links.majoritySilentForMs();
  }

  async start(): Promise<void> {
    try {
      await this.reader.load();
    } catch (thrown) {
      this.resign(`its context cannot be read: ${TributaryError.from(thrown).message}`);
    }
  }

  resign(why: string): void {
    this.event({ type: 'resign', why });
  }

  /** Ends the term without a word to anybody. Idempotent. */
  stop(): void {
    this.isStopped = true;
    for (const timer of [...this.timers.values(), ...this.suspects.values()]) timer.cancel();
    this.reader.close();
    this.writer.close();
    this.links.close();
  }

  private event(event: ControllerEvent): void {
    if (this.isStopped) return;
    if (!this.queue.push(event)) {
      this.options.logger.error('the controller cannot keep up and resigns', { maxQueuedEvents });
      this.queue.drain();
      this.queue.push({ type: 'resign', why: 'too many events wait' });
    }
    if (this.isStepping) return;
    this.isStepping = true;
    try {
      this.drain();
    } finally {
      this.isStepping = false;
    }
  }

  private drain(): void {
    const { limits } = this.options;
    for (let event = this.queue.shift(); event; event = this.queue.shift()) {
      const { state, effects } = step(this.state, event, limits);
      this.state = state;
      for (const effect of effects) this.execute(effect);
      if (this.isStopped) return;
    }
  }

  private execute(effect: ControllerEffect): void {
    switch (effect.type) {
      case 'write-states':
        return this.writer.write(effect.writes);
      case 'publish':
        for (const brokerId of effect.to) {
          const delta = deltaMessage(effect.publication, brokerId);
          this.links.send(brokerId, { delta, body: 'delta' });
        }
        return;
      case 'send-image':
        for (const image of imageChunks(this.state)) {
          this.links.send(effect.brokerId, { image, body: 'image' });
        }
        return;
      case 'answer-alteration':
        return this.links.send(effect.brokerId, alterAnswer(effect.requestId, effect.outcome));
      case 'answer-shutdown':
        return this.links.send(effect.brokerId, shutdownAnswer(effect));
      case 'open-link':
        return this.links.open(effect.registration);
      case 'close-link':
        return this.links.closeOne(effect.brokerId);
      case 'cut-stream':
        return this.links.cut(effect.brokerId, effect.why);
      case 'complete-deletion':
        return void this.completeDeletion(effect);
      case 'settle-owed':
        return void this.settleOwed(effect);
      case 'refresh-topics':
        return this.reader.refresh(effect.topic);
      case 'update-topic':
        return void this.updateTopic(effect);
      case 'write-settings':
        return void this.writeSettings(effect);
      case 'read-settings':
        return void this.readSettings();
      case 'answer-command': {
        const answer = { requestId: effect.requestId, ...effect.answer };
        return this.links.send(effect.brokerId, { answer, body: 'answer' });
      }
      case 'watch-suspect':
        return this.watchSuspect(effect);
      case 'set-timer':
        return this.setTimer(effect.timer, effect.delayMs);
      case 'journal':
        return this.note(effect.entry);
      case 'resign':
        this.stop();
        return this.options.onResigned(effect.why);
    }
  }

  private async settleOwed({ owed }: EffectOf<'settle-owed'>): Promise<void> {
    const { sources, fence } = this.options;
    try {
      await sources.owed.settle(fence, owed);
      this.event({ type: 'owed-settled', owed });
    } catch (thrown) {
      this.event({ type: 'owed-failed', owed, error: TributaryError.from(thrown) });
    }
  }

  private async completeDeletion(effect: EffectOf<'complete-deletion'>): Promise<void> {
    const { marker, owed } = effect;
    const { topicId } = marker;
    const { sources, fence } = this.options;
    try {
      await sources.topics.completeDeletion(fence, marker, owed);
      this.event({ type: 'deletion-completed', topicId });
    } catch (thrown) {
      this.event({ type: 'deletion-failed', topicId, error: TributaryError.from(thrown) });
    }
  }

  private async updateTopic({ before, after }: EffectOf<'update-topic'>): Promise<void> {
    const { sources, fence } = this.options;
    try {
      const record = await sources.topics.update(fence, before, after);
      this.event({ type: 'topic-updated', record });
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      this.event({ type: 'topic-update-failed', topicId: before.topicId, error });
    }
  }

  private async writeSettings(effect: EffectOf<'write-settings'>): Promise<void> {
    const { sources, fence } = this.options;
    const { settings, expectedVersion } = effect;
    try {
      const written = await sources.settings.write(fence, settings, expectedVersion);
      this.event({ type: 'settings-written', settings: written });
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      this.event({ type: 'settings-failed', brokerId: settings.brokerId, error });
    }
  }

  private async readSettings(): Promise<void> {
    try {
      const settings = await this.options.sources.settings.readAll();
      this.event({ type: 'settings-read', settings });
    } catch (thrown) {
      this.resign(`the coordinator cannot be read: ${TributaryError.from(thrown).message}`);
    }
  }

  private watchSuspect({ brokerId, round, delayMs }: SuspectWatch): void {
    this.suspects.get(brokerId)?.cancel();
    const timer = this.options.clock.setTimer(delayMs, () => {
      this.suspects.delete(brokerId);
      this.event({ type: 'suspect-stable', brokerId, round });
    });
    this.suspects.set(brokerId, timer);
  }

  /** One that is running already is left to run. */
  private setTimer(timer: ControllerTimer, delayMs: number): void {
    if (this.timers.has(timer)) return;
    const running = this.options.clock.setTimer(delayMs, () => {
      this.timers.delete(timer);
      this.event({ type: 'timer', timer });
    });
    this.timers.set(timer, running);
  }

  private note(entry: JournalEntry): void {
    const { journal, clock, logger } = this.options;
    const { controllerEpoch } = this;
    journal.add({ ...entry, at: clock.wallTime(), controllerEpoch });
    logger.info('controller decision', { ...entry, controllerEpoch });
  }
}

function alterAnswer(requestId: number, outcome: AlterOutcome): ControlDownInput {
  const body = 'alterPartitionResult';
  if (outcome.error) {
    const error = toWireError(outcome.error);
    return { alterPartitionResult: { requestId, error, outcome: 'error' }, body };
  }
  const { state } = outcome;
  return { alterPartitionResult: { requestId, state, outcome: 'state' }, body };
}

function shutdownAnswer(effect: EffectOf<'answer-shutdown'>): ControlDownInput {
  const { requestId, stillLeading } = effect;
  const error = effect.error ? toWireError(effect.error) : null;
  return {
    controlledShutdownResult: { requestId, stillLeading, error },
    body: 'controlledShutdownResult',
  };
}
