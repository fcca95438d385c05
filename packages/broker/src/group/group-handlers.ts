/**
 * The broker's side of group.proto, on a GroupStore of its own: any broker serves any group, because the truth
 * lies in the coordinator. Made by the composition of the broker; the handlers go into its listeners.
 */
import { methods, unaryHandler, type Handler } from '@tributary/protocol';
import type { GroupHandlersOptions, GroupHost } from './group-host';
import { groupLimits } from './group-limits';
import {
  checkedGroup,
  checkedOffset,
  checkedPartition,
  commitResults,
  committedToWire,
  describedOffsets,
  viewToWire,
} from './group-messages';
import { MemberSessions } from './member-handler';

export function groupHandlers(options: GroupHandlersOptions): Handler[] {
  const host: GroupHost = { ...options, limits: { ...groupLimits, ...options.limits } };
  const { groupStore } = host;
  return [
    new MemberSessions(host).handler(),
    unaryHandler(methods.group.fetchOffsets, async ({ group, partitions }) => {
      const wanted = partitions.length === 0 ? undefined : partitions.map(checkedPartition);
      const offsets = await groupStore.fetchOffsets(checkedGroup(group), wanted);
      return { offsets: offsets.map(committedToWire) };
    }),
    unaryHandler(methods.group.commitOffsets, async ({ group, offsets }) => {
      const commits = offsets.map(({ partition, offset, leaderEpoch, metadata }) => ({
        partition: checkedPartition(partition),
        offset: checkedOffset(offset),
        leaderEpoch,
        metadata,
      }));
      await groupStore.commitOffsets(checkedGroup(group), commits);
      return {
        results: commitResults(
          commits.map(({ partition }) => partition),
          [],
        ),
      };
    }),
    unaryHandler(methods.group.describeGroup, async ({ group }) => {
      const description = await groupStore.describe(checkedGroup(group));
      return { view: viewToWire(description.view), offsets: describedOffsets(description) };
    }),
    unaryHandler(methods.group.listGroups, async () => ({ groups: await groupStore.list() })),
  ];
}
