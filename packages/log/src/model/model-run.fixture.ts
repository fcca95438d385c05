/**
 * Carries out actions on a log and on its model alike, in the way the broker does: cuts are announced and settled before
 * anything is appended. After a crash it finds out which of the states that were possible the log is in, and goes on with
 * that one. Called by the model test of the log.
 */
import { seededRandom, type Random } from '@tributary/common';
import type { Action } from './model-action.fixture';
import { afterCrash } from './model-crash.fixture';
import { check } from './model-check.fixture';
import { ModelLog, type ModelBatch } from './model-log.fixture';
import { bytesOf, ModelMachine } from './model-machine.fixture';

const KEYS = 6;
const RESTART_OFFSETS = 60;

type ActionOf<D extends Action['do']> = Extract<Action, { readonly do: D }>;
type Cut = Extract<Action, { readonly settles: boolean }>;

export class ModelRun {
  private readonly random: Random;
  private readonly machine: ModelMachine;
  private model = new ModelLog();
  /** As it was before cuts that may not be on the device. */
  private before: ModelLog[] = [];
  /** That any leader had. */
  private maxEpoch = -1;
  private serial = 0;

  private constructor(seed: number) {
    this.random = seededRandom(seed);
    this.machine = new ModelMachine(this.random);
  }

  static async start(seed: number): Promise<ModelRun> {
    const run = new ModelRun(seed);
    await run.machine.open();
    return run;
  }

  async step(action: Action): Promise<void> {
    await this.apply(action);
    await this.machine.settle();
    if (this.machine.config.cleanupPolicy.includes('compact')) {
      this.model.mayPass(this.machine.clock.wallTime());
    }
    check(this.machine, this.model, this.random);
  }

  private async apply(action: Action): Promise<void> {
    const { machine, model } = this;
    const { log } = machine;
    switch (action.do) {
      case 'append':
        await this.settleCuts();
        return this.append(action);
      case 'replicate':
        return this.replicate(action);
      case 'retry':
        return this.retry();
      case 'lead':
        return this.lead();
      case 'truncate':
        return this.truncate(action);
      case 'restart':
        return this.restart(action);
      case 'announce':
        return this.announce(action);
      case 'commit':
        model.commit(this.between(model.highWatermark, model.end, action.share));
        return log.noteHighWatermark(model.highWatermark);
      case 'trim':
        return this.trim(action);
      case 'pass':
        await machine.clock.advance(action.ms);
        return this.takeRetention();
      case 'maintain':
        await machine.maintain();
        return this.takeRetention();
      case 'configure':
        return machine.configure(action.change);
      case 'flush':
        await log.flush();
        model.synced = model.end;
        if (model.assigned === 'in place') model.assigned = 'durable';
        return;
      case 'reopen':
        return this.reopen(action.clean);
      case 'crash':
        return this.crash(action);
    }
  }

  private async settleCuts(): Promise<void> {
    await this.machine.log.settleCuts();
    this.before = [];
  }

  private async lead(): Promise<void> {
    const { model, machine } = this;
    await this.settleCuts();
    machine.log.withdrawCut();
    this.maxEpoch += 1;
    await machine.log.assignEpoch(this.maxEpoch);
    model.assign(this.maxEpoch, model.end);
    // The power may take it before the next flush: see PartitionLog.
    model.assigned = 'in place';
  }

  private async append({ records, size, producer }: Omit<ActionOf<'append'>, 'do'>): Promise<void> {
    const { model, machine } = this;
    if (model.latestEpoch < 0) await this.lead();
    const leaderEpoch = model.latestEpoch;
    const batch = this.newBatch({ base: model.end, epoch: leaderEpoch, records, size, producer });
    // It may be on the device before the call has returned.
    model.add(batch);
    const codec = this.random.next() < 0.1 ? 'gzip' : 'none';
    const { baseOffset, lastOffset, duplicate } = machine.log.appendAsLeader(
      bytesOf(batch, codec),
      { leaderEpoch },
    );
    expect([baseOffset, lastOffset, duplicate]).toEqual([batch.base, batch.last, false]);
  }

  private async replicate(action: ActionOf<'replicate'>): Promise<void> {
    const { model, machine } = this;
    await this.settleCuts();
    const { batches, gap, size, producer } = action;
    const lowest = Math.max(0, model.writtenEpoch);
    let epoch = this.between(lowest, this.maxEpoch + 1, action.epochShare);
    // Who led an epoch never follows in it: its first batch would lie at the end of then, without a gap.
    if (epoch === model.latestEpoch && epoch > model.writtenEpoch) epoch += 1;
    if (epoch < model.latestEpoch) model.forgetEmptyEpoch();
    const parts: Buffer[] = [];
    let base = model.end + (this.random.next() < 0.5 ? gap : 0);
    for (let i = 0; i < batches; i += 1) {
      const batch = this.newBatch({ base, epoch, records: 2, size, producer });
      model.add(batch);
      parts.push(bytesOf(batch));
      base = batch.last + 1 + gap;
      if (this.random.next() < 0.1) epoch += 1;
    }
    this.maxEpoch = Math.max(this.maxEpoch, epoch);
    machine.log.appendAsFollower(Buffer.concat(parts));
  }

  /** One of those that are remembered is sent again. */
  private async retry(): Promise<void> {
    const { model, machine } = this;
    await this.settleCuts();
    const known = [...model.producers.values()].flatMap(({ batches }) => batches);
    const { baseOffset } = known[Math.floor(this.random.next() * known.length)] ?? {};
    const batch = model.batches.find(({ base }) => base === baseOffset);
    if (!batch) return;
    const leaderEpoch = model.latestEpoch;
    const answer = machine.log.appendAsLeader(bytesOf(batch), { leaderEpoch });
    expect(answer).toEqual({ baseOffset, lastOffset: batch.last, duplicate: true });
  }

  private async truncate({ share, settles }: Omit<Cut, 'do'>): Promise<void> {
    const { model, machine } = this;
    // What compaction has passed is committed, and is not cut any more.
    const offset = this.between(Math.max(model.start, model.passedTo), model.end + 2, share);
    if (model.endAfterCut(offset) < model.passedTo) return;
    await machine.log.prepareCut(offset);
    this.before.push(model.clone());
    machine.log.truncateTo(offset);
    model.truncate(offset);
    if (settles) await this.settleCuts();
  }

  private async restart({ share, settles }: Omit<Cut, 'do'>): Promise<void> {
    const { model, machine } = this;
    const offset = this.between(0, RESTART_OFFSETS, share);
    await machine.log.prepareCut(Math.min(offset, model.start));
    this.before.push(model.clone());
    machine.log.restartAt(offset);
    model.restart(offset);
    if (settles) await this.settleCuts();
  }

  /** A cut that does not come. */
  private async announce({ share }: { readonly share: number }): Promise<void> {
    const { model, machine } = this;
    const offset = this.between(model.start, model.end, share);
    model.synced = Math.min(model.synced, model.endAfterCut(offset));
    await machine.log.prepareCut(offset);
    machine.log.withdrawCut();
  }

  private async trim({ share, stores }: ActionOf<'trim'>): Promise<void> {
    const { model, machine } = this;
    if (model.start > model.highWatermark) return;
    const offset = this.between(model.start, model.highWatermark, share);
    machine.log.deleteRecordsBefore(offset);
    model.start = offset;
    if (!stores) return;
    await machine.log.storeLogStart();
    model.storedStart = offset;
  }

  /** Whatever retention took must have had its time, or there was too much of it. */
  private takeRetention(): void {
    const { model, machine } = this;
    const { log, config, clock } = machine;
    const { logStartOffset } = log;
    if (logStartOffset === model.start) return;
    expect(logStartOffset).toBeGreaterThan(model.start);
    expect(logStartOffset).toBeLessThanOrEqual(model.highWatermark);
    expect(config.cleanupPolicy).toContain('delete');
    const { retentionMs, retentionBytes } = config;
    // A pass of compaction may have made it smaller since.
    const mayBeSmaller = config.cleanupPolicy.includes('compact');
    const isTooLarge = retentionBytes >= 0 && (mayBeSmaller || log.sizeBytes >= retentionBytes);
    const isKept = (timestamp: number): boolean =>
      retentionMs < 0 || clock.wallTime() - timestamp <= retentionMs;
    const tooEarly = model.records.filter(
      ({ offset, timestamp }) =>
        offset >= model.start && offset < logStartOffset && isKept(timestamp),
    );
    if (!isTooLarge) expect(tooEarly).toEqual([]);
    model.start = logStartOffset;
  }

  private async reopen(clean: boolean): Promise<void> {
    const { model, machine } = this;
    await machine.close(clean);
    model.synced = model.end;
    model.storedStart = model.start;
    this.before = [];
    await machine.open();
    machine.log.noteHighWatermark(model.highWatermark);
  }

  /** In the middle of appends, and of a round of maintenance. */
  private async crash(action: ActionOf<'crash'>): Promise<void> {
    const { machine } = this;
    await this.settleOrNot();
    if (action.maintains) machine.beginMaintenance();
    for (let i = 0; i < action.appends && machine.log.cutsAreSettled; i += 1) {
      await this.append({ records: 2, size: 120, producer: i - 1 });
    }
    for (let i = 0; i < action.steps; i += 1) await Promise.resolve();
    if (machine.log.logStartOffset > this.model.start) this.takeRetention();
    const { model } = this;
    model.synced = Math.max(model.synced, machine.log.durableEndOffset);
    machine.crash(action.losesPower);
    await machine.open();
    this.model = afterCrash(machine, {
      ...action,
      expected: model,
      before: this.before,
      maxEpoch: this.maxEpoch,
    });
    if (action.losesPower) this.before = [];
    machine.log.noteHighWatermark(this.model.highWatermark);
  }

  private async settleOrNot(): Promise<void> {
    if (this.random.next() < 0.5) await this.settleCuts();
  }

  private newBatch(options: {
    readonly base: number;
    readonly epoch: number;
    readonly records: number;
    readonly size: number;
    readonly producer: number;
  }): ModelBatch {
    const { base, epoch, records, size, producer: id } = options;
    const timestamp = this.machine.clock.wallTime() - Math.floor(this.random.next() * 50);
    const made = Array.from({ length: records }, (_, i) => {
      this.serial += 1;
      const isTombstone = this.random.next() < 0.2;
      return {
        offset: base + i,
        key: `k${Math.floor(this.random.next() * KEYS)}`,
        value: isTombstone ? null : `${this.serial}`.padEnd(size, '.'),
        timestamp: timestamp + i,
      };
    });
    return { base, last: base + records - 1, epoch, producer: this.sequence(id), records: made };
  }

  private sequence(id: number): ModelBatch['producer'] {
    if (id < 0) return undefined;
    const next = this.model.nextSequence(id);
    if (this.random.next() < 0.9) return { id, ...next };
    return { id, epoch: next.epoch + 1, baseSequence: 0 };
  }

  private between(from: number, to: number, share: number): number {
    return from + Math.min(to - from, Math.floor(share * (to - from + 1)));
  }
}
