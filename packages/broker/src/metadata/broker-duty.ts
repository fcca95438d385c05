/** A broker's duty as it is stored, and as it is told. Called by the controller and by who reads an image. */
import type { BrokerDuty } from '@tributary/coordination';
import type { BrokerInfo } from '@tributary/protocol';

export type WireDuty = BrokerInfo['duty'];

export const wireDuties = {
  'in service': 'BROKER_DUTY_IN_SERVICE',
  drained: 'BROKER_DUTY_DRAINED',
  decommissioned: 'BROKER_DUTY_DECOMMISSIONED',
} as const satisfies Readonly<Record<BrokerDuty, WireDuty>>;

/** undefined: not said. */
export function dutyFromWire(wire: WireDuty | undefined): BrokerDuty | undefined {
  return (Object.keys(wireDuties) as BrokerDuty[]).find((duty) => wireDuties[duty] === wire);
}
