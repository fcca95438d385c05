import type { TributaryError } from '@tributary/common';
import {
  decodeBroker,
  decodeClusterId,
  decodeConfig,
  decodeController,
  decodeControllerEpoch,
  decodeDeletion,
  decodePartitionState,
  decodeProducerIdBlock,
  decodeTopic,
  encodeBroker,
  encodeClusterId,
  encodeConfig,
  encodeController,
  encodeControllerEpoch,
  encodeDeletion,
  encodePartitionState,
  encodeProducerIdBlock,
  encodeTopic,
  paths,
} from './layout';

const json = (data: Buffer): unknown => JSON.parse(data.toString());

describe('payloads, as Kafka writes them', () => {
  test('/brokers/ids/ID is version 5, with the first endpoint as host and port', () => {
    const registration = {
      brokerId: 4,
      endpoints: [
        { listener: 'INSIDE', host: '10.0.0.4', port: 9292 },
        { listener: 'OUTSIDE', host: '::1', port: 19292 },
      ],
      rack: 'r2',
      hostname: 'machine-4',
    };
    const data = encodeBroker(registration, 1_700_000_000_000);
    expect(json(data)).toEqual({
      version: 5,
      host: '10.0.0.4',
      port: 9292,
      endpoints: ['INSIDE://10.0.0.4:9292', 'OUTSIDE://[::1]:19292'],
      jmx_port: -1,
      timestamp: '1700000000000',
      rack: 'r2',
      listener_security_protocol_map: { INSIDE: 'PLAINTEXT', OUTSIDE: 'PLAINTEXT' },
      features: {},
      hostname: 'machine-4',
    });
    expect(decodeBroker(4, data)).toEqual(registration);
    const withoutRack = { ...registration, rack: undefined };
    expect(decodeBroker(4, encodeBroker(withoutRack, 0))).toEqual(withoutRack);
  });

  test('/brokers/topics/T is version 3', () => {
    const record = {
      topic: 'orders',
      topicId: 'abc',
      assignment: [
        [1, 2],
        [2, 3],
      ],
      configs: {},
    };
    const data = encodeTopic(record);
    expect(json(data)).toEqual({
      version: 3,
      topic_id: 'abc',
      partitions: { '0': [1, 2], '1': [2, 3] },
      adding_replicas: {},
      removing_replicas: {},
    });
    const { configs: _, ...rest } = record;
    expect(decodeTopic('orders', data)).toEqual(rest);
  });

  test('/brokers/topics/T notes who owes a deletion, and nothing where nobody does', () => {
    const record = { topic: 'orders', topicId: 'abc', assignment: [[1], [2]], configs: {} };
    const owed = new Map([[1, [4, 3]]]);
    const data = encodeTopic({ ...record, owed });
    expect(json(data)).toMatchObject({ version: 3, owed_replicas: { '1': [4, 3] } });
    const { configs: _, ...rest } = record;
    expect(decodeTopic('orders', data)).toEqual({ ...rest, owed });
    expect(json(encodeTopic({ ...record, owed: new Map() }))).not.toHaveProperty('owed_replicas');
  });

  test('partitions are put in order by number, not by text', () => {
    const assignment = Array.from({ length: 12 }, (_, index) => [index]);
    const data = encodeTopic({ topic: 't', topicId: 'x', assignment, configs: {} });
    expect(decodeTopic('t', data).assignment).toEqual(assignment);
  });

  test('the state of a partition is version 1', () => {
    const state = {
      topic: 'orders',
      topicId: 'abc',
      partition: 7,
      leader: -1,
      leaderEpoch: 3,
      controllerEpoch: 9,
      isr: [2],
      eligibleLeaders: [1, 3],
    };
    const data = encodePartitionState(state);
    expect(json(data)).toEqual({
      controller_epoch: 9,
      leader: -1,
      version: 1,
      leader_epoch: 3,
      isr: [2],
      eligible_leaders: [1, 3],
      topic_id: 'abc',
    });
    expect(decodePartitionState('orders', 7, data)).toEqual(state);
  });

  test('a partition state says who takes part, and in which broker epochs the seats were given', () => {
    const state = {
      topic: 'orders',
      topicId: 'abc',
      partition: 7,
      leader: 2,
      leaderEpoch: 3,
      controllerEpoch: 9,
      isr: [2],
      eligibleLeaders: [1],
      replicas: [1, 2],
      seatEpochs: new Map([
        [2, 520],
        [1, 17],
      ]),
    };
    const data = encodePartitionState(state);
    expect(json(data)).toMatchObject({ replicas: [1, 2], seat_epochs: { 1: 17, 2: 520 } });
    expect(decodePartitionState('orders', 7, data)).toEqual(state);
  });

  test('/controller is version 2, /controller_epoch plain digits', () => {
    const node = { brokerId: 1, controllerEpoch: 5, claim: 'c' };
    const data = encodeController(node, 17);
    expect(json(data)).toMatchObject({ version: 2, brokerid: 1, timestamp: '17' });
    expect(decodeController(data)).toEqual(node);
    expect(encodeControllerEpoch(5).toString()).toBe('5');
    expect(decodeControllerEpoch(Buffer.from('0'))).toBe(0);
    expect(() => decodeControllerEpoch(Buffer.from('-1'))).toThrow('/controller_epoch');
  });

  test('config, deletion marker, cluster id (its version is a string), producer ids (theirs are strings)', () => {
    expect(json(encodeConfig({ a: 'b' }))).toEqual({ version: 1, config: { a: 'b' } });
    expect(decodeConfig('t', encodeConfig({ a: 'b' }))).toEqual({ a: 'b' });
    const marker = { topic: 't', topicId: 'x' };
    expect(decodeDeletion('t', encodeDeletion(marker))).toEqual(marker);
    expect(json(encodeClusterId('id'))).toEqual({ version: '1', id: 'id' });
    expect(decodeClusterId(encodeClusterId('id'))).toBe('id');
    const block = { brokerId: 2, first: 1_000, last: 1_999, claim: 'c' };
    expect(json(encodeProducerIdBlock(block))).toEqual({
      version: 1,
      broker: 2,
      block_start: '1000',
      block_end: '1999',
      claim: 'c',
    });
    const { claim: _, ...rest } = block;
    expect(decodeProducerIdBlock(encodeProducerIdBlock(block))).toEqual(rest);
  });
});

describe('what is not understood', () => {
  const refused = (decode: () => unknown): TributaryError => {
    try {
      decode();
    } catch (error) {
      return error as TributaryError;
    }
    throw new Error('was understood');
  };

  test.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['nothing', ''],
    ['a later version', '{"version":9,"topic_id":"x"}'],
    ['no version', '{"topic_id":"x"}'],
    ['a field of another type', '{"version":1,"topic_id":7}'],
  ])('%s is refused, naming the path', (_, text) => {
    const error = refused(() => decodeDeletion('orders', Buffer.from(text)));
    expect(error).toMatchObject({ code: 'UNKNOWN_FORMAT' });
    expect(error.message).toContain('/admin/delete_topics/orders');
  });

  test('a gap in the partitions, an endpoint that is none, a number that is none', () => {
    const gap = '{"version":3,"topic_id":"x","partitions":{"0":[1],"2":[1]}}';
    expect(refused(() => decodeTopic('t', Buffer.from(gap))).code).toBe('UNKNOWN_FORMAT');
    const broker = '{"version":5,"host":"h","endpoints":["nonsense"]}';
    expect(refused(() => decodeBroker(1, Buffer.from(broker))).code).toBe('UNKNOWN_FORMAT');
    const state = '{"version":1,"topic_id":"x","leader":1.5}';
    expect(refused(() => decodePartitionState('t', 0, Buffer.from(state))).code).toBe(
      'UNKNOWN_FORMAT',
    );
  });
});

test('paths', () => {
  expect(paths.partitionState('orders', 3)).toBe('/brokers/topics/orders/partitions/3/state');
  expect(paths.broker(1)).toBe('/brokers/ids/1');
});
