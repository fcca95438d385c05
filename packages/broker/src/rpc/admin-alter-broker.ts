/**
 * Admin.AlterBroker on any broker: settings and duty of a broker, or settings of all. Passed on to the controller;
 * answered when this broker's image shows it, where that broker is registered. Called through `adminHandlers`.
 */
import { TributaryError } from '@tributary/common';
import { allBrokers } from '@tributary/coordination';
import type {
  AlterBrokerRequest,
  AlterBrokerResponseInput,
  BrokerInfo,
  CallContext,
} from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import {
  askController,
  commandDeadline,
  untilShown,
  type CommandOptions,
} from './admin-ask-controller';
import { checkSettingNames, invalid } from './admin-checks';

export async function alterBroker(
  options: CommandOptions,
  request: AlterBrokerRequest,
  context: CallContext,
): Promise<AlterBrokerResponseInput> {
  check(request);
  const deadline = commandDeadline(options, request.timeoutMs, context);
  const command = { alterBroker: request, command: 'alterBroker' } as const;
  const { alteredBroker } = await askController(options, command, deadline);
  if (!alteredBroker)
    throw new TributaryError('INTERNAL', 'the controller answered something else');
  const shows = (image: MetadataImage): boolean => showsSettings(image, request);
  await untilShown(options, shows, deadline, `${nameOf(request.brokerId)} altered`);
  return alteredBroker;
}

function check({ brokerId, setConfigs, removeConfigs, duty }: AlterBrokerRequest): void {
  if (brokerId < allBrokers) throw invalid(`${brokerId} is no broker id`);
  checkSettingNames(setConfigs, removeConfigs);
  if (brokerId === allBrokers && duty !== 'BROKER_DUTY_UNSPECIFIED') {
    throw invalid('all brokers cannot have one duty', 'Name the broker.');
  }
  const changes = Object.keys(setConfigs).length + removeConfigs.length;
  if (changes === 0 && duty === 'BROKER_DUTY_UNSPECIFIED') {
    throw invalid(`nothing of ${nameOf(brokerId)} would change`, 'Name a setting or a duty.');
  }
}

/** What was set. What was removed may still have a value: that of all brokers. */
function showsSettings(image: MetadataImage, request: AlterBrokerRequest): boolean {
  const { brokerId, setConfigs, duty } = request;
  const has = ({ configs }: BrokerInfo, name: string): boolean =>
    brokerId === allBrokers ? name in configs : configs[name] === setConfigs[name];
  return image
    .brokers()
    .filter((broker) => brokerId === allBrokers || broker.brokerId === brokerId)
    .every(
      (broker) =>
        Object.keys(setConfigs).every((name) => has(broker, name)) &&
        (duty === 'BROKER_DUTY_UNSPECIFIED' || dutyOf(broker) === duty),
    );
}

export function dutyOf({ duty }: Pick<BrokerInfo, 'duty'>): BrokerInfo['duty'] {
  return duty === 'BROKER_DUTY_UNSPECIFIED' ? 'BROKER_DUTY_IN_SERVICE' : duty;
}

function nameOf(brokerId: number): string {
  return brokerId === allBrokers ? 'all brokers' : `broker ${brokerId}`;
}
