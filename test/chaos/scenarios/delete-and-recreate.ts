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
const CLOSE_TIMEOUT_MS = 1_000;

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
    const writers: LifeWriter[] = [];
    try {
      for (let life = 1; life <= LIVES; life += 1) {
        await admin.createTopic({ topic: TOPIC, partitions: PARTITIONS, replicationFactor: 3 }, timeout); // prettier-ignore
        const writer = new LifeWriter(client, life);
        writers.push(writer);
        await pause(500 + randomInteger(random, 700));
        writer.late = true;
        // It goes on writing while the topic is being deleted, and what it could not write meets the next life.
        if (life < LIVES) await admin.deleteTopic(TOPIC, timeout);
        writer.pause();
        timeline.note(`life ${life} of ${TOPIC}: ${writer.acknowledged} records acknowledged`);
      }
    } finally {
      await Promise.all(writers.map((writer) => writer.close()));
    }
    await judge(stage, writers.at(-1)!.acknowledged);
    await admin.deleteTopic(TOPIC, timeout);
    healed(`topic ${TOPIC} is gone for good`);
  },
};

/** Writes to one life of the topic; its records say to which one they belong. */
class LifeWriter {
  acknowledged = 0;
  /** Its topic is about to go: what is sent from now on may find the next one. */
  late = false;
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

  pause(): void {
    clearInterval(this.timer);
  }

  async close(): Promise<void> {
    this.pause();
    await this.producer.close({ timeoutMs: CLOSE_TIMEOUT_MS });
  }

  private write(): void {
    const value = Buffer.from(`${this.late ? 'late ' : ''}life ${this.life}`);
    const record = { partition: this.sent++ % PARTITIONS, value };
    this.producer.send(TOPIC, record).then(
      () => (this.acknowledged += 1),
      () => undefined, // the topic went meanwhile
    );
  }
}

async function judge({ client, violation }: Stage, acknowledged: number): Promise<void> {
  const { partitions } = await client.admin().describeTopic(TOPIC, { timeoutMs: ADMIN_TIMEOUT_MS });
  let left = partitions.reduce((sum, { endOffset = 0n }) => sum + Number(endOffset), 0);
  if (left < acknowledged) {
    violation(`${TOPIC} holds ${left} records, ${acknowledged} were acknowledged`);
  }
  const reader = client.consumer({ topics: [TOPIC], from: 'earliest' });
  for await (const record of reader.records({ signal: AbortSignal.timeout(ADMIN_TIMEOUT_MS) })) {
    const life = lifeOf(record);
    if (!life.startsWith('late') && life !== `life ${LIVES}`) {
      violation(`a record of ${life} stands in life ${LIVES} of ${TOPIC}`);
    }
    left -= 1;
    if (left <= 0) break;
  }
  await reader.close({ timeoutMs: CLOSE_TIMEOUT_MS });
}

function lifeOf({ value }: ConsumerRecord): string {
  return Buffer.from(value ?? []).toString('latin1');
}
