/**
 * Wires the parts of one broker together, all but its registration. Called by Broker once the cluster id is
 * known.
 */
import {
  createBrokerSettingsStore,
  createControllerElection,
  createGroupStore,
  createOwedDeletionStore,
  createPartitionStateStore,
  createProducerIdBlocks,
  createTopicStore,
  type BrokerRegistry,
  type ControllerFence,
} from '@tributary/coordination';
import type { Acceptor, Handler } from '@tributary/protocol';
import type { BrokerOptions } from './broker-options';
import type { ControlLimits } from './control-limits';
import { BegunEpochs } from './control/begun-epochs';
import { ControlReceiver } from './control/control-receiver';
import { Controller } from './controller/controller';
import { ControllerElector } from './controller/controller-elector';
import { DecisionJournal } from './controller/decision-journal';
import type { DataPlane, DataPlaneContext } from './data-plane';
import { groupHandlers } from './group';
import { IsolationMonitor, type IsolationSources } from './isolation-monitor';
import { LeadershipCheck } from './leadership-check';
import { MetadataCache } from './metadata/metadata-cache';
import { createDataPlane } from './replication/data-plane-factory';
import { adminHandlers } from './rpc/admin-handlers';
import { ProducerIds } from './rpc/init-producer-handler';
import { metadataHandler } from './rpc/metadata-handler';
import { createSuccession } from './succession/succession-factory';

export interface BrokerParts {
  readonly clusterId: string;
  readonly metadata: MetadataCache;
  readonly receiver: ControlReceiver;
  readonly elector: ControllerElector;
  readonly isolation: IsolationMonitor;
  readonly leadership: LeadershipCheck;
  readonly dataPlane: DataPlane;
  readonly journal: DecisionJournal;
  readonly handlers: readonly Handler[];
  /** As the coordinator has it, behind a barrier. */
  controllerEpoch(): Promise<number>;
}

export interface AssemblyContext {
  readonly limits: ControlLimits;
  readonly clusterId: string;
  readonly registry: BrokerRegistry;
  brokerEpoch(): number | undefined;
}

export function assembleBroker(options: BrokerOptions, context: AssemblyContext): BrokerParts {
  const { brokerId, coordinator, clock, random, logger } = options;
  const { clusterId, registry, limits } = context;
  const metadata = new MetadataCache();
  const acceptor = (): Acceptor => acceptorOf(brokerId, context);
  const topics = createTopicStore(coordinator, clock, logger);
  const election = createControllerElection(coordinator, clock, random);
  const read = (): Promise<number> => election.epoch();
  const epochs = new BegunEpochs({ clock, logger, read, withinMs: limits.earlyHelloMs });
  const receiver = new ControlReceiver({
    clock,
    logger,
    limits,
    metadata,
    epochs,
    acceptor,
    host: () => dataPlane.host,
    onStream: (event) => succession.preemption.onStream(event),
    onEpoch: (controllerEpoch) => elector.noticeEpoch(controllerEpoch),
  });
  const makeDataPlane =
    options.dataPlane ??
    ((dataContext: DataPlaneContext) => createDataPlane(dataContext, options.dataLimits));
  const dataPlane = makeDataPlane({
    ...options,
    clusterId,
    logStore: options.logStore,
    metadata,
    alterer: receiver,
  });
  const journal = new DecisionJournal();
  const barrier = (): Promise<void> => coordinator.barrier();
  const states = createPartitionStateStore(coordinator);
  const settings = createBrokerSettingsStore(coordinator);
  const owed = createOwedDeletionStore(coordinator, clock);
  const sources = { registry, topics, states, settings, owed, barrier };
  const makeController = (fence: ControllerFence, onResigned: (why: string) => void): Controller =>
    new Controller({ ...options, clusterId, fence, sources, limits, journal, onResigned });
  const elector = new ControllerElector({
    ...options,
    election,
    epochs,
    limits,
    makeController,
    onFollow: (reign) => succession.preemption.follow(reign),
  });
  const parts = { clusterId, receiver, elector, journal };
  const succession = createSuccession(options, { ...context, ...parts, acceptor });
  const controllerSilentForMs = (): number => controllerSilence(receiver, elector, brokerId);
  const isolation = makeIsolation(options, limits, { dataPlane, controllerSilentForMs });
  const leadership = new LeadershipCheck({
    ...{ clock, logger, states, controllerSilentForMs, host: () => dataPlane.host },
    heartbeatTimeoutMs: limits.heartbeatTimeoutMs,
  });
  const groupStore = createGroupStore(coordinator, clock, random, logger);
  const ids = new ProducerIds(createProducerIdBlocks(coordinator, random), brokerId);
  const handlers = [
    ...dataPlane.handlers,
    receiver.handler,
    succession.handler,
    metadataHandler({ metadata, clusterId, clock }),
    ids.handler,
    ...groupHandlers({ groupStore, clock, logger, acceptor }),
    ...adminHandlers({
      ...{ registry, topics, settings, barrier, metadata, journal, controller: receiver },
      ...{ clock, random, logger, limits, clusterId, brokerId },
    }),
  ];
  return { ...parts, metadata, isolation, leadership, dataPlane, handlers, controllerEpoch: read }; // prettier-ignore
}

type ControllerSilence = Pick<IsolationSources, 'controllerSilentForMs'>;

function makeIsolation(
  { coordinator, clock, logger }: BrokerOptions,
  { zombieGraceMs }: ControlLimits,
  { dataPlane, controllerSilentForMs }: Pick<BrokerParts, 'dataPlane'> & ControllerSilence,
): IsolationMonitor {
  const sources = {
    coordinatorSilentForMs: () => coordinator.silentForMs,
    controllerSilentForMs,
  };
  return new IsolationMonitor(clock, zombieGraceMs, sources, (isolated) => {
    logger.warn(isolated ? 'isolated: acks 0 and 1 are refused' : 'no longer isolated');
    dataPlane.host.setIsolated(isolated);
  });
}

function controllerSilence(
  receiver: ControlReceiver,
  elector: ControllerElector,
  brokerId: number,
): number {
  if (receiver.controllerId !== brokerId) return receiver.silentForMs;
  return elector.controller?.majoritySilentForMs() ?? receiver.silentForMs;
}

/** Control and group streams need no credit; the numbers of client streams are the data plane's. */
function acceptorOf(brokerId: number, context: AssemblyContext): Acceptor {
  return {
    clusterId: context.clusterId,
    brokerId,
    brokerEpoch: context.brokerEpoch() ?? 0,
    features: [],
    creditBytes: 0,
    maxInFlightRequests: 0,
    maxRequestBytes: 0,
  };
}
