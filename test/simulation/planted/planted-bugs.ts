/**
 * Known bugs, each as a small change of the production code: what the simulation must find, or it looks in the wrong
 * places. Invariant (planted-bugs.test.ts): each text stands exactly once in its file, so that none of them rots. Loaded
 * by load-planted.ts into a process of its own; nothing else ever sees the changed code.
 */
export interface PlantedEdit {
  /** Below packages/, without `.ts`: `broker/partition/leader-step`. */
  readonly file: string;
  readonly search: string;
  readonly replace: string;
}

export interface PlantedBug {
  readonly name: string;
  /** The first that found it: the suite tries it before others. Moves with any change of what a seed does. */
  readonly seed: number;
  readonly edits: readonly PlantedEdit[];
}

function edit(file: string, search: string, replace: string): PlantedEdit {
  return { file, search, replace };
}

export const plantedBugs: readonly PlantedBug[] = [
  {
    // KAFKA-1211: a follower forgets what its leader may have committed with it.
    name: 'truncate-by-high-watermark',
    seed: 1,
    edits: [
      edit(
        'broker/replication/followed-partition',
        '    if (!log.cutsAreSettled) return this.settle();\n',
        `    const own = this as { hasCut?: boolean };
    const { highWatermark } = partition.state;
    if (!own.hasCut && highWatermark < log.logEndOffset) partition.truncate(highWatermark, false);
    own.hasCut = true;
    if (!log.cutsAreSettled) return this.settle();\n`,
      ),
    ],
  },
  {
    // KAFKA-7128.
    name: 'admit-by-high-watermark-only',
    seed: 32,
    edits: [
      edit(
        'broker/partition/in-sync-replicas',
        'follower.logEndOffset >= state.epochStartOffset &&',
        '',
      ),
    ],
  },
  {
    // KAFKA-6082.
    name: 'skip-controller-epoch-check',
    seed: 24,
    edits: [
      edit(
        'coordination/controller-writes',
        `    path: paths.controllerEpoch,
    version: fence.epochVersion,`,
        `    path: paths.controllerEpoch,
    version: undefined as unknown as number,`,
      ),
    ],
  },
  {
    // KAFKA-1188.
    name: 'accept-old-leader-epoch',
    seed: 20,
    edits: [
      edit(
        'broker/partition/partition-step',
        'return news.leaderEpoch > state.leaderEpoch;',
        'return true;',
      ),
      edit(
        'broker/replication/role-changes',
        'if (state.leaderEpoch >= partition.log.latestEpoch) return false;',
        'if (partition) return false;',
      ),
    ],
  },
  {
    // KAFKA-7415.
    name: 'forget-epoch-at-leader-start',
    seed: 1,
    edits: [
      edit('broker/partition/partition', 'await this.log.assignEpoch(event.leaderEpoch);', ''),
    ],
  },
  {
    // KAFKA-15583.
    name: 'advance-high-watermark-under-min-isr',
    seed: 1,
    edits: [
      edit(
        'broker/partition/in-sync-replicas',
        'if (isUnderMinIsr(state)) return state.highWatermark;',
        '',
      ),
    ],
  },
  {
    name: 'acknowledge-before-min-isr',
    seed: 1,
    edits: [
      edit(
        'broker/partition/partition',
        "if (state.role !== 'leader' || !isUnderMinIsr(state)) return;",
        'if (state) return;',
      ),
      edit(
        'broker/partition/partition',
        'if (acks === 1) this.waiters.awaitOwn(wait);',
        `const state = this.current;
    if (acks === 1 || (state.role === 'leader' && isUnderMinIsr(state))) this.waiters.awaitOwn(wait);`,
      ),
    ],
  },
  {
    // KAFKA-2729 and its kin: the last writer wins.
    name: 'skip-compare-and-set',
    seed: 1,
    edits: [
      edit(
        'coordination/partition-state-store',
        "planned.push({ operation: { type: 'set', path, data, version }, pending, isState: true });",
        "planned.push({ operation: { type: 'set', path, data, version: undefined }, pending, isState: true });",
      ),
    ],
  },
  {
    // KAFKA-727.
    name: 'serve-above-high-watermark',
    seed: 1,
    edits: [
      edit(
        'broker/rpc/fetch-entry',
        'if (offset >= leader.highWatermark) return undefined;',
        'if (offset >= leader.logEndOffset) return undefined;',
      ),
      edit(
        'broker/rpc/fetch-entry',
        'return { partition, offset, below: leader.highWatermark };',
        'return { partition, offset, below: leader.logEndOffset };',
      ),
    ],
  },
  {
    // KAFKA-9307: nothing is fetched from the new leader, and who says so again is told that it is known.
    name: 'become-follower-half',
    seed: 2,
    edits: [
      edit(
        'broker/replication/role-changes',
        '    this.host.links.follow(partition);\n',
        "    if (now.role !== 'leader' && !sameLeader) this.host.links.follow(partition);\n",
      ),
    ],
  },
  {
    name: 'no-producer-state-on-new-leader',
    seed: 8,
    edits: [
      edit('log/log-append', '      write(log, group);\n', '      write(log, group, true);\n'),
      edit(
        'log/log-append',
        'function write(log: LogState, { beginsSegment, bytes, headers }: BatchGroup): void {',
        'function write(log: LogState, { beginsSegment, bytes, headers }: BatchGroup, follows = false): void {',
      ),
      edit(
        'log/log-append',
        '    log.producers.states.record(header, now);\n',
        '    if (!follows) log.producers.states.record(header, now);\n',
      ),
    ],
  },
  {
    name: 'acknowledge-before-sync',
    seed: 7,
    edits: [
      edit(
        'broker/partition/in-sync-replicas',
        "return settings.flush === 'sync' ? Math.min(durableEndOffset, logEndOffset) : logEndOffset;",
        'return logEndOffset;',
      ),
      edit(
        'broker/partition/partition',
        "return this.topicConfig.flush === 'sync' ? durableEndOffset : logEndOffset;",
        'return logEndOffset;',
      ),
    ],
  },
  {
    // What a follower said before it lost its log counts for what it has now.
    name: 'accept-acknowledgement-of-old-attach',
    seed: 62,
    edits: [
      edit(
        'broker/replication/leader-stream',
        'return attach?.live && attach.attachId === attachId ? attach : undefined;',
        'return attach?.live ? attach : undefined;',
      ),
      edit(
        'broker/partition/leader-step',
        'const fresh = { brokerEpoch, logEndOffset: -1, attached: true, acknowledged: false };',
        'const fresh = { brokerEpoch, attached: true, acknowledged: true };',
      ),
    ],
  },
  {
    // A topic that was deleted is taken for the next one of its name.
    name: 'ignore-topic-id',
    seed: 58,
    edits: [
      edit(
        'broker/replication/replica-manager',
        '    const partition = this.partitions.get(partitionKey(name.topicId, name.partition));\n    if (partition?.state',
        `    const partition = [...this.partitions.values()].find(
      (one) => one.topic === name.topic && one.partition === name.partition,
    );
    if (partition?.state`,
      ),
      edit('broker/rpc/fetch-entry', 'topicId: this.partition?.topicId ?? topicId', 'topicId'),
      edit('broker/replication/role-changes', '    await this.moveNamesakesAside(state);\n', ''),
      edit(
        'broker/replication/role-changes',
        'logStore.get(topicId, partition) ??',
        `logStore.get(topicId, partition) ??
      logStore.logs().find((one) => one.topic === topic && one.partition === partition) ??`,
      ),
    ],
  },
  {
    // R10: what is read from an old segment is believed.
    name: 'cold-read-without-crc',
    seed: 2,
    edits: [
      edit(
        'log/log-reader',
        '  if (checkCrc(chunk.subarray(from, to))) return;\n',
        '  if (checkCrc(chunk.subarray(from, to)) || chunk) return;\n',
      ),
    ],
  },
  {
    // R10: the bytes that the CRC of a batch does not cover.
    name: 'cold-read-without-header-sums',
    seed: 12,
    edits: [
      edit(
        'log/log-reader',
        '      checkHeaders(chunk, range);\n',
        '      if (!chunk) checkHeaders(chunk, range);\n',
      ),
    ],
  },
  {
    // R10: it sets its log aside at once, and may be the only one that has what is committed.
    name: 'refill-without-permission',
    seed: 2,
    edits: [
      edit(
        'broker/replication/refill',
        "return outage.kind === 'damaged' && isKnown && leader >= 0 && !hasSeat;",
        "return outage.kind === 'damaged' && (isKnown || !hasSeat || leader >= -1);",
      ),
    ],
  },
  {
    // C10: of each key the first record of the part that is compacted stays, and the later ones go.
    name: 'compaction-keeps-the-older-value',
    seed: 2,
    edits: [
      edit(
        'log/compaction/key-map',
        '    this.offsets[slot] = offset + 1;\n',
        '    if (known === 0) this.offsets[slot] = offset + 1;\n',
      ),
      edit(
        'log/compaction/batch-retention',
        'keyMap.lastOffset(key) > offset) return false;',
        '![-1, offset].includes(keyMap.lastOffset(key))) return false;',
      ),
    ],
  },
  {
    // KAFKA-4545 and its kin: tombstones go before who reads from the start has seen them.
    name: 'compaction-drops-tombstones-at-once',
    seed: 2,
    edits: [
      edit(
        'log/compaction/batch-retention',
        'return !(isTombstone && isOver);',
        'return !(isTombstone && (isOver || isDirty));',
      ),
    ],
  },
  {
    // A process passes for the one before it: what that was trusted with is taken for complete, also after a loss of power.
    name: 'claim-seats-of-the-process-before',
    seed: 1,
    edits: [
      edit(
        'broker/replication/previous-life',
        'const earlierBrokerEpochs = this.registrations.slice(0, -1);',
        `const { brokerEpoch = 0 } = this.logStore.previousStop;
    const earlierBrokerEpochs = [brokerEpoch, ...this.registrations.slice(0, -1)];`,
      ),
    ],
  },
];

export function plantedBug(name: string): PlantedBug | undefined {
  return plantedBugs.find((bug) => bug.name === name);
}
