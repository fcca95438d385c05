/**
 * The last step of a topic's deletion: its states, partitions, config, topic node and marker go, in bounded multis.
 * Each checks the controller's fence and that the topic is still the same incarnation, so it may be interrupted
 * anywhere and done again by the next controller. The topic node stands until all below is gone. Called by TopicStore.
 */
import { fencedMulti, refusedOperation } from './controller-writes';
import type { Coordinator, CoordinatorNode, MultiOperation } from './coordinator';
import { replyWasLost } from './coordinator-errors';
import { decodeDeletion, decodeTopic, paths } from './layout';
import type { ControllerFence, DeletionMarker } from './nouns';
import { joinPath } from './session/node-path';

export const maxRemovalsPerMulti = 200;
/** Rounds of looking and removing; each is needed only when something changed meanwhile or a reply was lost. */
const MAX_ROUNDS = 50;

export async function removeTopic(
  coordinator: Coordinator,
  fence: ControllerFence,
  marker: DeletionMarker,
  /** Applied together with the removal of the topic's node. */
  notes: readonly MultiOperation[] = [],
): Promise<void> {
  for (let round = 1; ; round += 1) {
    try {
      const node = await coordinator.get(paths.topic(marker.topic));
      if (node && decodeTopic(marker.topic, node.data).topicId === marker.topicId) {
        await removeAll(coordinator, fence, marker, { topicNode: node, notes });
      } else {
        await removeMarker(coordinator, fence, marker);
      }
      return;
    } catch (error) {
      const again = refusedOperation(error) !== undefined || replyWasLost(error);
      if (!again || round >= MAX_ROUNDS) throw error;
    }
  }
}

async function removeAll(
  coordinator: Coordinator,
  fence: ControllerFence,
  marker: DeletionMarker,
  {
    topicNode,
    notes,
  }: { readonly topicNode: CoordinatorNode; readonly notes: readonly MultiOperation[] },
): Promise<void> {
  const topicPath = paths.topic(marker.topic);
  const below = await nodesBelow(coordinator, topicPath);
  const sameTopic = {
    type: 'check',
    path: topicPath,
    version: topicNode.stat.version,
  } as const;
  for (let from = 0; from < below.length; from += maxRemovalsPerMulti) {
    const removals = below.slice(from, from + maxRemovalsPerMulti).map(removal);
    await fencedMulti(coordinator, fence, [sameTopic, ...removals]);
  }
  const last: MultiOperation[] = [
    { type: 'remove', path: topicPath, version: topicNode.stat.version },
    ...notes,
  ];
  if (await coordinator.get(paths.topicConfig(marker.topic))) {
    last.push(removal(paths.topicConfig(marker.topic)));
  }
  const markerNode = await ownMarker(coordinator, marker);
  if (markerNode) last.push(markerNode);
  await fencedMulti(coordinator, fence, last);
}

/** The topic is gone, or another one has its name: only the marker is left. */
async function removeMarker(
  coordinator: Coordinator,
  fence: ControllerFence,
  marker: DeletionMarker,
): Promise<void> {
  const operation = await ownMarker(coordinator, marker);
  if (operation) await fencedMulti(coordinator, fence, [operation]);
}

async function ownMarker(
  coordinator: Coordinator,
  marker: DeletionMarker,
): Promise<MultiOperation | undefined> {
  const path = paths.deletion(marker.topic);
  const node = await coordinator.get(path);
  if (!node || decodeDeletion(marker.topic, node.data).topicId !== marker.topicId) return undefined;
  return { type: 'remove', path, version: node.stat.version };
}

/** Children before their parents; the path itself is not among them. */
async function nodesBelow(coordinator: Coordinator, path: string): Promise<string[]> {
  const names = (await coordinator.children(path)) ?? [];
  const lists = await Promise.all(
    names.map(async (name) => {
      const child = joinPath(path, name);
      return [...(await nodesBelow(coordinator, child)), child];
    }),
  );
  return lists.flat();
}

function removal(path: string): MultiOperation {
  return { type: 'remove', path, version: undefined };
}
