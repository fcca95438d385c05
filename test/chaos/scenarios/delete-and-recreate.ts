/**
 * A topic is deleted and created again under the same name while it is written to: what was meant for the old one must
 * never stand in the new one (ADR 5). The writer begins anew with each topic, as an application would that made it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { randomInteger } from '@tributary/common';
import type { Client, ConsumerRecord, Producer } from '@tributary/client';
import type { Scenario, Stage } from '../scenario';

const TOPIC = 'chaos-recreated';
const PARTITIONS = 4;
const LIVES = 4;
const WRITE_EVERY_MS = 4;
const ADMIN_TIMEOUT_MS = 30_000;
const DELIVERY_TIMEOUT_MS = 20_000;
const CLOSE_TIMEOUT_MS = 5_000;

export const deleteAndRecreate: Scenario = {
  name: 'delete-and-recreate',
  summary: 'delete and create a topic that is written to, again and again',
  needs: [],
  roundSeconds: () => 12,
  errorsAllowed: false,
  async faults(stage) {
    const { timeline, client, random } = stage;
    const admin = client.admin();
    const healed = timeline.fault(
      `topic ${TOPIC} is created and deleted ${LIVES} times under load`,
    );
    const timeout = { timeoutMs: ADMIN_TIMEOUT_MS };
    for (let life = 1; life <= LIVES; life += 1) {
      await admin.createTopic(
        { topic: TOPIC, partitions: PARTITIONS, replicationFactor: 3 },
        timeout,
      );
      const writer = new LifeWriter(client, life);
      await pause(500 + randomInteger(random, 700));
      // It goes on writing while the topic is being deleted.
      if (life < LIVES) await admin.deleteTopic(TOPIC, timeout);
      await writer.stop();
      timeline.note(`life ${life} of ${TOPIC}: ${writer.acknowledged} records acknowledged`);
      if (life === LIVES) await judge(stage, life, writer.acknowledged);
    }
    await admin.deleteTopic(TOPIC, timeout);
    healed(`topic ${TOPIC} is gone for good`);
  },
};

/** Writes to one life of the topic; its records say to which one they belong. */
class LifeWriter {
  acknowledged = 0;
  private readonly producer: Producer;
  private readonly timer: NodeJS.Timeout;
  private sent = 0;

  constructor(
    client: Client,
    private readonly life: number,
  ) {
    this.producer = client.producer({ acks: 'all', deliveryTimeoutMs: DELIVERY_TIMEOUT_MS });
    this.timer = setInterval(() => this.write(), WRITE_EVERY_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    // What was still on its way when the topic went has failed, or fails now.
    await this.producer.close({ timeoutMs: CLOSE_TIMEOUT_MS });
  }

  private write(): void {
    const record = { partition: this.sent++ % PARTITIONS, value: Buffer.from(`life ${this.life}`) };
    this.producer.send(TOPIC, record).then(
      () => (this.acknowledged += 1),
      () => undefined, // the topic went meanwhile
    );
  }
}

async function judge(
  { client, violation }: Stage,
  life: number,
  acknowledged: number,
): Promise<void> {
  const { partitions } = await client.admin().describeTopic(TOPIC, { timeoutMs: ADMIN_TIMEOUT_MS });
  let expected = partitions.reduce((sum, { endOffset = 0n }) => sum + Number(endOffset), 0);
  if (expected < acknowledged)
    violation(`${TOPIC} holds ${expected} records, ${acknowledged} were acknowledged`);
  const reader = client.consumer({ topics: [TOPIC], from: 'earliest' });
  for await (const record of reader.records({ signal: AbortSignal.timeout(ADMIN_TIMEOUT_MS) })) {
    if (lifeOf(record) !== `life ${life}`)
      violation(`a record of ${lifeOf(record)} stands in life ${life} of ${TOPIC}`);
    expected -= 1;
    if (expected <= 0) break;
  }
  await reader.close({ timeoutMs: 1_000 });
}

function lifeOf({ value }: ConsumerRecord): string {
  return Buffer.from(value ?? []).toString('latin1');
}
