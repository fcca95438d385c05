/**
 * The GroupStore of clients that do not reach the coordinator: group.proto of any broker. Same rules, same
 * contract suite as the one on a coordinator; the broker holds the member's lease. Made by the client.
 */
import { backoffMs, Deadline, sleep, TributaryError } from '@tributary/common';
import type {
  CommittedOffset,
  GroupDescription,
  GroupMembership,
  GroupPartition,
  GroupStore,
  JoinOptions,
  MemberDescription,
  OffsetCommit,
  PartitionOwner,
} from '@tributary/coordination';
import { methods, type UnaryMethod } from '@tributary/protocol';
import type { BrokerNode, ClientContext } from '../seams';
import { commitErrors, committedFromWire, partitionFromWire, partitionToWire, viewFromWire } from './group-wire'; // prettier-ignore
import { MemberStream } from './member-stream';
import { RemoteMembership } from './remote-membership';

/** One broker may take this long before the next one is asked. */
const ATTEMPT_TIMEOUT_MS = 3_000;

export class RemoteGroupStore implements GroupStore {
  constructor(private readonly context: ClientContext) {}

  async join(
    group: string,
    member: MemberDescription,
    options: JoinOptions,
  ): Promise<GroupMembership> {
    const { clientId, host, topics, assignors } = member;
    const { leaseMs, signal } = options;
    const join = {
      group,
      clientId,
      host,
      topics: [...topics],
      assignors: [...assignors],
      leaseMs,
      resumeMemberId: '',
    };
    return this.onAnyBroker(signal, 'joining the group', async (broker, deadline) => {
      const askedAt = this.context.clock.now();
      const connection = this.context.connections.to(broker);
      const target = { connection, clientId: this.context.clientId, brokerId: broker.brokerId };
      const { stream, joined } = await MemberStream.open(target, join, deadline);
      return new RemoteMembership(this.context, broker, join, { stream, joined, askedAt });
    });
  }

  async list(): Promise<string[]> {
    const { groups } = await this.call(methods.group.listGroups, {});
    return groups;
  }

  async describe(group: string): Promise<GroupDescription> {
    const { view, offsets } = await this.call(methods.group.describeGroup, { group });
    if (!view) throw new TributaryError('INTERNAL', 'the broker answered without a view');
    const owners = offsets
      .filter(({ owner }) => owner !== '')
      .map(({ partition, owner, ownerEpoch }): PartitionOwner => ({
        partition: partitionFromWire(partition),
        memberId: owner,
        ownerEpoch,
      }));
    const committed = offsets.map(committedFromWire).filter((offset) => offset !== undefined);
    return { group, view: viewFromWire(view), owners, offsets: committed };
  }

  async fetchOffsets(
    group: string,
    partitions?: readonly GroupPartition[],
  ): Promise<CommittedOffset[]> {
    if (partitions?.length === 0) return []; // on the wire, none would mean all
    const { offsets } = await this.call(methods.group.fetchOffsets, {
      group,
      partitions: partitions?.map(partitionToWire) ?? [],
    });
    return offsets.map(committedFromWire).filter((offset) => offset !== undefined);
  }

  async commitOffsets(group: string, commits: readonly OffsetCommit[]): Promise<void> {
    const { results } = await this.call(methods.group.commitOffsets, {
      group,
      offsets: commits.map(({ partition, offset, leaderEpoch, metadata }) => ({
        partition: partitionToWire(partition),
        ownerEpoch: 0,
        offset,
        leaderEpoch,
        metadata,
      })),
    });
    const failed = commitErrors(commits.length, results).find((error) => error !== undefined);
    if (failed) throw failed;
  }

  private call<RequestInput, Request, ResponseInput, Response>(
    method: UnaryMethod<RequestInput, Request, ResponseInput, Response>,
    request: RequestInput,
  ): Promise<Response> {
    return this.onAnyBroker(undefined, method.path, (broker, deadline) => {
      const timeoutMs = Math.max(1, deadline.remainingMs);
      return this.context.connections.to(broker).call(method, request, { timeoutMs });
    });
  }

  /** One broker after the other, until one answers or the time of a call is over. */
  private async onAnyBroker<T>(
    signal: AbortSignal | undefined,
    what: string,
    work: (broker: BrokerNode, deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const { clock, random, metadata, requestTimeoutMs, closing } = this.context;
    const either = signal ? AbortSignal.any([signal, closing]) : closing;
    const deadline = Deadline.after(clock, requestTimeoutMs, either);
    for (let attempt = 0; ; attempt += 1) {
      deadline.check(what);
      try {
        const broker = await metadata.anyBroker(attempt, deadline);
        const attemptMs = Math.min(ATTEMPT_TIMEOUT_MS, deadline.remainingMs / 2);
        return await work(broker, Deadline.after(clock, attemptMs, either));
      } catch (thrown) {
        const error = TributaryError.from(thrown);
        const waitMs = backoffMs(attempt, random);
        // What the group itself answers is an answer; only the way to it is tried again.
        if (!mayAskAnother(error) || waitMs >= deadline.remainingMs) throw error;
        await sleep(clock, waitMs, either);
      }
    }
  }
}

const waysToAsk = new Set([
  'UNAVAILABLE',
  'TIMEOUT',
  'OVERLOADED',
  'BROKER_MISMATCH',
  'COORDINATOR_UNAVAILABLE',
  'SESSION_EXPIRED',
]);

function mayAskAnother(error: TributaryError): boolean {
  return waysToAsk.has(error.code);
}
