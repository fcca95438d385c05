/**
 * Reads from the coordinator what a controller must know: everything when it takes office, and afterwards
 * what is new. Watches are armed before the first read and are only hints: each leads to a fresh read
 * that is compared with what the controller knows. One pass at a time, so that a topic is always known
 * before its deletion is reported.
 * Called by the controller's driver.
 */
import { TributaryError } from '@tributary/common';
import type {
  BrokerRegistry,
  BrokerSettingsStore,
  OwedDeletionStore,
  PartitionStateStore,
  RegisteredBroker,
  TopicStore,
  Watch,
} from '@tributary/coordination';
import type { ControllerEvent, TopicContext } from './controller-event';

/** Topics that are read at once. */
export const maxTopicReadsInFlight = 16;

export interface ContextSources {
  readonly registry: BrokerRegistry;
  readonly topics: TopicStore;
  readonly states: PartitionStateStore;
  readonly settings: BrokerSettingsStore;
  readonly owed: OwedDeletionStore;
  /** Reads after it see all that was written before. */
  barrier(): Promise<void>;
}

export interface ContextReaderHost {
  event(event: ControllerEvent): void;
  /** Topic names that the controller knows now. */
  knownTopics(): ReadonlySet<string>;
  failed(error: TributaryError): void;
}

export class ContextReader {
  private watches: Watch[] = [];
  private readonly again = new Set<string>();
  private isDirty = false;
  private isReading = false;
  private isClosed = false;
  private isLoaded = false;

  constructor(
    private readonly sources: ContextSources,
    private readonly host: ContextReaderHost,
  ) {}

  /** Arms the watches, reads everything and reports it, before anything that the watches tell. */
  async load(): Promise<void> {
    const { registry, topics } = this.sources;
    let latest: RegisteredBroker[] | undefined;
    this.watches = [
      registry.watch((brokers) => {
        latest = brokers;
        if (this.isLoaded) this.report({ type: 'brokers-changed', brokers });
      }),
      topics.watchNames(() => this.refresh()),
      topics.watchDeletions(() => this.refresh()),
    ];
    await this.sources.barrier();
    const brokers = await registry.list();
    const contexts = await this.readTopics(await topics.names());
    const brokerSettings = await this.sources.settings.readAll();
    const owedDeletions = await this.sources.owed.readAll();
    const deletions = await topics.deletions();
    this.isLoaded = true;
    // What the watches told meanwhile is newer than what was read at the beginning.
    const of = { topics: contexts, deletions, brokerSettings, owedDeletions };
    const context = { brokers: latest ?? brokers, ...of };
    this.report({ type: 'elected', context });
    // What they hinted at.
    this.refresh();
  }

  /** Looks for new and vanished topics and for deletion markers; `topic` is read again in any case. */
  refresh(topic?: string): void {
    if (topic !== undefined) this.again.add(topic);
    this.isDirty = true;
    if (this.isLoaded && !this.isReading) void this.pass();
  }

  close(): void {
    this.isClosed = true;
    for (const watch of this.watches) watch.stop();
    this.watches = [];
  }

  private async pass(): Promise<void> {
    this.isReading = true;
    try {
      while (this.isDirty && !this.isClosed) {
        this.isDirty = false;
        await this.readChanges();
      }
    } catch (thrown) {
      if (!this.isClosed) this.host.failed(TributaryError.from(thrown));
    }
    this.isReading = false;
  }

  private async readChanges(): Promise<void> {
    const again = [...this.again];
    this.again.clear();
    const names = await this.sources.topics.names();
    const known = this.host.knownTopics();
    const unread = names.filter((name) => !known.has(name) || again.includes(name));
    const topics = await this.readTopics(unread);
    this.report({ type: 'topics-changed', names, topics });
    const markers = await this.sources.topics.deletions();
    this.report({ type: 'deletions-changed', markers });
  }

  private async readTopics(names: readonly string[]): Promise<TopicContext[]> {
    const contexts: TopicContext[] = [];
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let name = names[next++]; name !== undefined; name = names[next++]) {
        const record = await this.sources.topics.get(name);
        if (!record) continue;
        const states = await this.sources.states.read(name);
        contexts.push({ record, states });
      }
    };
    const workers = Math.min(maxTopicReadsInFlight, names.length);
    await Promise.all(Array.from({ length: workers }, worker));
    return contexts;
  }

  private report(event: ControllerEvent): void {
    if (!this.isClosed) this.host.event(event);
  }
}
