import { allBrokers } from '@tributary/coordination';
import type { AlterBrokerRequest } from '@tributary/protocol';
import { prefersNotToLead } from './controller-state';
import { ControllerScript, registered, topicContext } from './controller-script.fixture';

function running(): ControllerScript {
  return new ControllerScript().begin([1, 2, 3], [topicContext('orders', [[1, 2, 9]])]);
}

function altered(script: ControllerScript, alterBroker: Partial<AlterBrokerRequest>): string[] {
  return script.ask(1, { alterBroker }).take();
}

function refusal(alterBroker: Partial<AlterBrokerRequest>): unknown {
  return running().ask(1, { alterBroker }).answers.at(-1)?.error;
}

const rate = 'replication.catch.up.bytes.per.second';

/** What the last publication told of the settings of brokers. */
function told(script: ControllerScript): unknown {
  return [...script.state.brokers.keys()].map((id) => ({
    id,
    ...script.state.brokerSettings.get(allBrokers)?.configs,
    ...script.state.brokerSettings.get(id)?.configs,
  }));
}

describe('settings of a broker altered', () => {
  it('are written, then told to all, then answered', () => {
    const script = running();
    expect(altered(script, { brokerId: 2, setConfigs: { [rate]: '4096' } })).toEqual([
      'write settings of 2@new',
    ]);
    expect(script.acknowledgeUpdates().take()).toEqual([
      'publish to 1,2,3: broker 2 ok',
      'answer 1 #1: done',
    ]);
    expect(script.answers.at(-1)?.alteredBroker).toEqual({
      configs: { [rate]: '4096' },
      duty: 'BROKER_DUTY_IN_SERVICE',
    });
    expect(altered(script, { brokerId: 2, removeConfigs: [rate] })).toEqual([
      'write settings of 2@0',
    ]);
  });

  it('of all: told for each broker that has none of its own', () => {
    const script = running();
    altered(script, { brokerId: 2, setConfigs: { [rate]: '4096' } });
    script.acknowledgeUpdates();
    altered(script, { brokerId: allBrokers, setConfigs: { [rate]: '8192' } });
    expect(script.acknowledgeUpdates().take()).toContain(
      'publish to 1,2,3: broker 1 ok; broker 2 ok; broker 3 ok',
    );
    expect(told(script)).toEqual([
      { id: 1, [rate]: '8192' },
      { id: 2, [rate]: '4096' },
      { id: 3, [rate]: '8192' },
    ]);
  });

  it('nothing to change: answered at once', () => {
    expect(altered(running(), { brokerId: 2, duty: 'BROKER_DUTY_IN_SERVICE' })).toEqual([
      'answer 1 #1: done',
    ]);
  });

  it('while another alteration of it is being written: waits for that', () => {
    const script = running();
    altered(script, { brokerId: 2, setConfigs: { [rate]: '4096' } });
    script.ask(1, { alterBroker: { brokerId: 2, duty: 'BROKER_DUTY_DRAINED' } }, 2);
    script.ask(1, { alterBroker: { brokerId: 3, duty: 'BROKER_DUTY_DRAINED' } }, 3);
    expect(script.take()).toEqual(['write settings of 3@new']);
    script.acknowledgeUpdates();
    expect(script.state.brokerSettings.get(2)).toEqual({
      brokerId: 2,
      configs: { [rate]: '4096' },
      duty: 'drained',
      version: 1,
    });
  });

  it('somebody else wrote first: refused, and read again', () => {
    const script = running();
    altered(script, { brokerId: 2, setConfigs: { [rate]: '4096' } });
    expect(script.refuseUpdate('BAD_VERSION').take()).toEqual([
      'read settings',
      'answer 1 #1: BAD_VERSION',
    ]);
  });

  it.each([
    ['unknown broker', { brokerId: 7 }, 'UNKNOWN_BROKER'],
    ['cannot be altered', { setConfigs: { 'log.dirs': '/x' } }, 'INVALID_CONFIG'],
    ['out of bounds', { setConfigs: { [rate]: '-5' } }, 'INVALID_CONFIG'],
    ['removed and unknown', { removeConfigs: ['log.dirs'] }, 'INVALID_CONFIG'],
    [
      'set and removed',
      { setConfigs: { [rate]: '4096' }, removeConfigs: [rate] },
      'INVALID_CONFIG',
    ],
    [
      'one duty for all',
      { brokerId: -1, duty: 'BROKER_DUTY_DRAINED' as const },
      'INVALID_ARGUMENT',
    ],
  ])('refused: %s', (_, request, code) => {
    expect(refusal(request)).toMatchObject({ code, outcome: 'NOT_WRITTEN' });
  });
});

describe('duty of a broker altered', () => {
  it('of one that is not registered, and has a replica', () => {
    const script = running();
    altered(script, { brokerId: 9, duty: 'BROKER_DUTY_DRAINED' });
    script.acknowledgeUpdates();
    expect(script.answers.at(-1)?.alteredBroker?.duty).toBe('BROKER_DUTY_DRAINED');
    expect(prefersNotToLead(script.state, 9)).toBe(true);
  });

  it('survives the controller', () => {
    const next = new ControllerScript().event({
      type: 'elected',
      context: {
        brokers: [registered(1), registered(2)],
        topics: [],
        deletions: [],
        brokerSettings: [{ brokerId: 2, configs: {}, duty: 'decommissioned', version: 4 }],
      },
    });
    expect([1, 2].map((id) => prefersNotToLead(next.state, id))).toEqual([false, true]);
    next.ready(1).ready(2).take();
    const alterBroker = { brokerId: 2, duty: 'BROKER_DUTY_IN_SERVICE' as const };
    expect(altered(next, alterBroker)).toEqual(['write settings of 2@4']);
  });
});
