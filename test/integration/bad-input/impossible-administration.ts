/**
 * Topics and groups that cannot be, asked of a broker by raw requests: refused one by one, before anything is written
 * to the coordinator, where their names would be paths.
 */
import { clientHello, methods, type MemberDown } from '@tributary/protocol';
import { badGroupNames, badJoins, badMemberCalls, badTopicNames, badTopics } from './bad-administration'; // prettier-ignore
import type { BadInputCluster } from './bad-input-cluster';
import { expectRefusal, expectRefused } from './refusal';
import { endOfStream } from './request-stream';

const timeoutMs = 10_000;

function shown(name: string): { readonly name: string; readonly start: string } {
  return { name, start: JSON.stringify(name.slice(0, 20)) };
}

export function describeImpossibleTopics(house: () => BadInputCluster): void {
  afterEach(async () => {
    const topics = await house().client.admin().listTopics();
    expect(topics.map(({ topic }) => topic)).toEqual(['control']);
  });

  test.each(badTopics)('creating one with $what', ({ request, code, says }) =>
    expectRefused(
      house().call(methods.admin.createTopic, { topic: 'impossible', ...request }),
      code,
      says,
    ),
  );

  test.each(badTopicNames.map(shown))(
    'the name $start, created, deleted, asked about',
    async ({ name: topic }) => {
      await expectRefused(
        house().call(methods.admin.createTopic, { topic }),
        'INVALID_TOPIC',
        /topic name "/,
      );
      await expectRefused(
        house().call(methods.admin.deleteTopic, { topic }),
        'INVALID_TOPIC',
        /topic name "/,
      );
      const { topics } = await house()
        .connection(1)
        .call(methods.broker.metadata, { topics: [topic, 'control'] }, { timeoutMs });
      expectRefusal(topics[0]!.error, 'UNKNOWN_TOPIC', /topic .* does not exist/);
      expect(topics[1]).toMatchObject({ topic: 'control', error: null });
    },
  );

  test('deleting one that does not exist, or that is another', async () => {
    const { deleteTopic } = methods.admin;
    await expectRefused(
      house().call(deleteTopic, { topic: 'nowhere' }),
      'UNKNOWN_TOPIC',
      /nowhere/,
    );
    const other = house().call(deleteTopic, { topic: 'control', topicId: 'another' });
    await expectRefused(other, 'TOPIC_ID_MISMATCH', /topic control has id .*, not another/);
  });

  test('metadata for a listener that no broker has, or of too many topics', async () => {
    const { metadata } = methods.broker;
    const says = /no broker has a listener named moon/;
    await expectRefused(house().call(metadata, { listener: 'moon' }), 'INVALID_ARGUMENT', says);
    const topics = Array.from({ length: 10_001 }, () => 'control');
    await expectRefused(
      house().call(metadata, { topics }),
      'INVALID_ARGUMENT',
      /10001 topics .* at most 10000/,
    );
  });

  test.each([
    { producerId: -1, producerEpoch: 0 },
    { producerId: 5, producerEpoch: -1 },
    { producerId: 5, producerEpoch: 40_000 },
  ])('the next epoch of a producer that cannot exist: %j', (request) =>
    expectRefused(
      house().call(methods.broker.initProducer, request),
      'INVALID_ARGUMENT',
      /cannot exist/,
    ),
  );
}

export function describeImpossibleGroups(house: () => BadInputCluster): void {
  const { member, ...unary } = methods.group;
  const named = [unary.fetchOffsets, unary.commitOffsets, unary.describeGroup];

  test.each(badGroupNames.map(shown))('the name $start', async ({ name: group }) => {
    for (const method of named) {
      await expectRefused(house().call(method, { group }), 'INVALID_ARGUMENT', /group name/);
    }
    const join = [{ hello: clientHello() }, { join: { group } }];
    const { error } = await endOfStream(house().connection(1), member, join);
    expectRefusal(error, 'INVALID_ARGUMENT', /group name/);
  });

  const partition = { topic: 'control', topicId: 'AAAA', partition: 0 };
  test.each([
    [{ offset: 1 }, 'INVALID_ARGUMENT', /partition is missing/],
    [{ partition: { ...partition, partition: -1 }, offset: 1 }, 'INVALID_ARGUMENT', /-1 is not a partition/],
    [{ partition: { ...partition, topicId: '../..' }, offset: 1 }, 'INVALID_ARGUMENT', /without its topic id/],
    [{ partition: { ...partition, topic: 'a/b' }, offset: 1 }, 'INVALID_TOPIC', /topic name "a\/b"/],
    [{ partition, offset: -1 }, 'INVALID_ARGUMENT', /-1 is not an offset/],
  ] as const)('committing %j', (offset, code, says) =>
    expectRefused(house().call(unary.commitOffsets, { group: 'readers', offsets: [offset] }), code, says),
  ); // prettier-ignore

  test.each(badJoins)('joining with $what', async ({ request, code, says }) => {
    const messages = [{ hello: clientHello() }, request];
    const { error } = await endOfStream(house().connection(1), member, messages);
    expectRefusal(error, code, says);
  });

  test('every bad call of a member is answered, and the membership goes on', async () => {
    const stream = house().connection(1).open(member);
    const answers = new Map<number, MemberDown>();
    await new Promise<void>((resolve, reject) => {
      stream.handle({
        onMessage: (message) => {
          if (message.joined) {
            badMemberCalls.forEach(({ request }, i) =>
              stream.send({ call: { ...request, callId: i + 1 } }),
            );
            stream.send({ call: { callId: 100, read: {} } });
          }
          if (message.result) answers.set(message.result.callId, message);
          if (answers.size > badMemberCalls.length) resolve();
        },
        onClose: reject,
      });
      stream.send({ hello: clientHello() });
      stream.send({ join: { group: 'readers', topics: ['control'] } });
    });
    stream.send({ leave: {} });
    badMemberCalls.forEach(({ what, code, says }, i) => {
      const answer = answers.get(i + 1)!.result!;
      expect({ what, code: answer.error?.code }).toEqual({ what, code });
      expectRefusal(answer.error, code, says);
    });
    expect(answers.get(100)!.result!.view!.members).toHaveLength(1);
  });
}
