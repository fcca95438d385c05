/**
 * `/brokers/topics/T`, `/config/topics/T` and `/admin/delete_topics/T`: topics, each incarnation with an id of its own.
 * Anybody creates topics and asks for deletions; only the controller completes one (topic-removal.ts).
 */
import {
  assert,
  hasCode,
  TributaryError,
  validateTopicName,
  type Clock,
  type Logger,
} from '@tributary/common';
import { fencedCompareAndSet, type NodeChange } from './controller-writes';
import type { Coordinator, Watch } from './coordinator';
import { replyWasLost } from './coordinator-errors';
import { DerivedWatch } from './derived-watch';
import {
  decodeConfig,
  decodeDeletion,
  decodeTopic,
  encodeConfig,
  encodeDeletion,
  encodeOwedDeletion,
  encodeTopic,
  paths,
} from './layout';
import type {
  ControllerFence,
  DeletionMarker,
  OwedDeletion,
  TopicRecord,
  TopicStore,
} from './nouns';
import { removeTopic } from './topic-removal';

/** Tries of a write whose replies keep getting lost. */
const MAX_ATTEMPTS = 20;

export function createTopicStore(
  coordinator: Coordinator,
  clock: Clock,
  logger: Logger,
): TopicStore {
  return new CoordinatedTopicStore(coordinator, clock, logger);
}

class CoordinatedTopicStore implements TopicStore {
  constructor(
    private readonly coordinator: Coordinator,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  async create(record: TopicRecord): Promise<void> {
    validateTopicName(record.topic);
    await this.coordinator.ensurePath(paths.topics);
    await this.coordinator.ensurePath(paths.topicConfigs);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.createOnce(record);
        return;
      } catch (error) {
        const lost = replyWasLost(error) || hasCode(error, 'SESSION_EXPIRED');
        if (!lost && !hasCode(error, 'NODE_EXISTS', 'NO_NODE')) throw error;
        const there = await this.coordinator.get(paths.topic(record.topic));
        // Ids are made for one creation: the same id means that an attempt of ours was applied.
        if (there && decodeTopic(record.topic, there.data).topicId === record.topicId) return;
        if (there) throw await this.topicExists(record.topic);
        if (attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  async get(topic: string): Promise<TopicRecord | undefined> {
    validateTopicName(topic);
    const [node, config] = await Promise.all([
      this.coordinator.get(paths.topic(topic)),
      this.coordinator.get(paths.topicConfig(topic)),
    ]);
    if (!node) return undefined;
    return {
      ...decodeTopic(topic, node.data),
      configs: config ? decodeConfig(topic, config.data) : {},
      version: node.stat.version,
      ...(config ? { configVersion: config.stat.version } : {}),
    };
  }

  async update(
    fence: ControllerFence,
    before: TopicRecord,
    after: TopicRecord,
  ): Promise<TopicRecord> {
    const { topic } = before;
    const { version, configVersion } = before;
    assert(
      version !== undefined && after.topicId === before.topicId,
      `${topic}: not as it was read`,
    );
    // The topic's node is written in any case: its version proves that nobody else wrote. That it is the same incarnation (the
    // next one begins at version 0, too) holds because the controller deletes no topic while it updates it.
    const changes: NodeChange[] = [
      { path: paths.topic(topic), data: encodeTopic(after), expectedVersion: version },
    ];
    if (after.configs !== before.configs) {
      const data = encodeConfig(after.configs);
      changes.push({ path: paths.topicConfig(topic), data, expectedVersion: configVersion });
    }
    const [newVersion, newConfigVersion = configVersion] = await fencedCompareAndSet(
      this.coordinator,
      fence,
      changes,
    );
    return { ...after, version: newVersion, configVersion: newConfigVersion };
  }

  async names(): Promise<string[]> {
    return (await this.coordinator.children(paths.topics)) ?? [];
  }

  watchNames(onChange: (names: string[]) => void): Watch {
    return this.coordinator.watchChildren(paths.topics, (names) => onChange(names ?? []));
  }

  async requestDeletion(marker: DeletionMarker): Promise<void> {
    validateTopicName(marker.topic);
    await this.coordinator.ensurePath(paths.deletions);
    for (let attempt = 1; ; attempt += 1) {
      const there = await this.marker(marker.topic);
      if (there?.topicId === marker.topicId) return;
      try {
        await this.mark(marker, there !== undefined);
        return;
      } catch (error) {
        const again =
          replyWasLost(error) || hasCode(error, 'NODE_EXISTS', 'NO_NODE', 'BAD_VERSION');
        if (!again || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  async deletions(): Promise<DeletionMarker[]> {
    const names = (await this.coordinator.children(paths.deletions)) ?? [];
    const markers = await Promise.all(names.map((topic) => this.marker(topic)));
    return markers.filter((marker) => marker !== undefined);
  }

  watchDeletions(onChange: (markers: DeletionMarker[]) => void): Watch {
    return DerivedWatch.start((signal) => this.coordinator.watchChildren(paths.deletions, signal), {
      read: () => this.deletions(),
      onChange,
      clock: this.clock,
      logger: this.logger,
    });
  }

  watchDeletion({ topic, topicId }: DeletionMarker, onGone: () => void): Watch {
    return this.coordinator.watchData(paths.deletion(topic), (node) => {
      if (!node || decodeDeletion(topic, node.data).topicId !== topicId) onGone();
    });
  }

  async completeDeletion(
    fence: ControllerFence,
    marker: DeletionMarker,
    owed: readonly OwedDeletion[] = [],
  ): Promise<void> {
    if (owed.length > 0) await this.coordinator.ensurePath(paths.owedDeletions);
    const wallTime = this.clock.wallTime();
    const notes = owed.map((each) => ({
      type: 'create' as const,
      path: paths.owedDeletion(each.brokerId, each.topicId),
      data: encodeOwedDeletion(each, wallTime),
    }));
    return removeTopic(this.coordinator, fence, marker, notes);
  }

  private async createOnce(record: TopicRecord): Promise<void> {
    const config = paths.topicConfig(record.topic);
    const data = encodeConfig(record.configs);
    const orphan = await this.coordinator.get(config);
    await this.coordinator.multi([
      { type: 'create', path: paths.topic(record.topic), data: encodeTopic(record) },
      orphan
        ? { type: 'set', path: config, data, version: orphan.stat.version }
        : { type: 'create', path: config, data },
    ]);
  }

  private async topicExists(topic: string): Promise<TributaryError> {
    const marker = await this.marker(topic);
    return marker
      ? new TributaryError('TOPIC_EXISTS', `topic ${topic} is still being deleted`, {
          hint: 'Wait until its deletion is complete, then create it again.',
          details: { topic },
        })
      : new TributaryError('TOPIC_EXISTS', `topic ${topic} already exists`, { details: { topic } });
  }

  private async marker(topic: string): Promise<DeletionMarker | undefined> {
    const node = await this.coordinator.get(paths.deletion(topic));
    return node && decodeDeletion(topic, node.data);
  }

  /** With a check that the topic has not changed hands meanwhile. */
  private async mark(marker: DeletionMarker, overwrite: boolean): Promise<void> {
    const { topic, topicId } = marker;
    const node = await this.coordinator.get(paths.topic(topic));
    if (!node) {
      throw new TributaryError('UNKNOWN_TOPIC', `topic ${topic} does not exist`, {
        details: { topic },
      });
    }
    if (decodeTopic(topic, node.data).topicId !== topicId) {
      throw new TributaryError(
        'TOPIC_ID_MISMATCH',
        `topic ${topic} is not ${topicId} any more: it was deleted and created again`,
        { details: { topic, topicId } },
      );
    }
    const path = paths.deletion(topic);
    const data = encodeDeletion(marker);
    await this.coordinator.multi([
      { type: 'check', path: paths.topic(topic), version: node.stat.version },
      overwrite ? { type: 'set', path, data, version: undefined } : { type: 'create', path, data },
    ]);
  }
}
