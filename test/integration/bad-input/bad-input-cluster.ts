/**
 * Three real brokers, raw connections to each, and the question that is asked after every bad input: is everything
 * else unharmed? That is: the same processes run, they logged no defect, and a control topic, written before, is
 * read back byte for byte from every leader.
 */
import { readFileSync } from 'node:fs';
import { silentLogger } from '@tributary/common';
import { createClient, type Client } from '@tributary/client';
import { GrpcTransport, methods, type Connection } from '@tributary/protocol';
import { assignOffsetAndEpoch } from '@tributary/record';
import { DevCluster, makeBatch } from '@tributary/testkit';

export interface Place {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly leader: number;
  readonly leaderEpoch: number;
}

const CONTROL = 'control';
const timeoutMs = 10_000;

export class BadInputCluster {
  readonly client: Client;
  private readonly transport = new GrpcTransport({ logger: silentLogger });
  private readonly connections = new Map<number, Connection>();
  /** What the control topic holds, by partition. */
  private readonly written: Buffer[] = [];
  private control: Place[] = [];
  private pids: (number | undefined)[] = [];

  private constructor(readonly cluster: DevCluster) {
    this.client = createClient({ brokers: cluster.addresses, clientId: 'bad-input' });
  }

  static async start(): Promise<BadInputCluster> {
    const house = new BadInputCluster(await DevCluster.start({ brokers: 3 }));
    try {
      await house.writeControlTopic();
      return house;
    } catch (error) {
      await house.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.client.close();
    await this.transport.close();
    await this.cluster.stop();
  }

  connection(brokerId: number): Connection {
    let connection = this.connections.get(brokerId);
    if (!connection) {
      connection = this.transport.connect(this.cluster.broker(brokerId), 'client');
      this.connections.set(brokerId, connection);
    }
    return connection;
  }

  /** Any unary request, to broker 1. */
  call(method: { readonly path: string }, request: object): Promise<unknown> {
    return this.connection(1).call(method as never, request as never, { timeoutMs });
  }

  /** Each partition as its leader has it. Its records are from 1970, which retention must not mind. */
  async createTopic(topic: string, partitions: number, settings = {}): Promise<Place[]> {
    const configs = { 'retention.ms': '-1', ...settings };
    await this.client
      .admin()
      .createTopic({ topic, partitions, replicationFactor: 3, configs }, { timeoutMs });
    return this.places(topic);
  }

  async places(topic: string): Promise<Place[]> {
    const { topicId, partitions } = await this.client.admin().describeTopic(topic, { timeoutMs });
    return partitions.map(({ partition, leader = -1, leaderEpoch }) => ({
      topic,
      topicId,
      partition,
      leader,
      leaderEpoch,
    }));
  }

  /** The leader of that place stops and comes back: another one leads, in a later epoch. */
  async moveLeader(place: Place): Promise<void> {
    await this.cluster.kill(place.leader, 'SIGTERM');
    await this.cluster.startBroker(place.leader);
    this.pids = this.cluster.brokers.map(({ pid }) => pid);
    this.control = await this.places(CONTROL);
  }

  async logEndOffset(place: Place): Promise<number> {
    const asked = { ...place, leaderEpoch: -1, spec: 'LATEST' as const };
    const answer = await this.connection(place.leader).call(
      methods.broker.listOffsets,
      { partitions: [asked] },
      { timeoutMs },
    );
    return answer.results[0]!.offset;
  }

  async expectUnharmed(): Promise<void> {
    expect(this.cluster.brokers.map(({ pid }) => pid)).toEqual(this.pids);
    const read = await Promise.all(this.control.map((place) => this.readAll(place)));
    expect(read.map((bytes, i) => bytes.equals(this.written[i]!))).toEqual([true, true, true]);
  }

  /** Lines that only a defect or a person's duty writes. */
  loggedErrors(): string[] {
    return this.cluster.brokers.flatMap(({ logFile }) =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line.includes('"level":"error"')),
    );
  }

  private async writeControlTopic(): Promise<void> {
    this.pids = this.cluster.brokers.map(({ pid }) => pid);
    this.control = await this.createTopic(CONTROL, 3);
    for (const place of this.control) {
      const values = Array.from({ length: 20 }, (_, i) => `control ${place.partition}/${i}\r\n`);
      const batch = makeBatch({ values });
      const { results } = await this.connection(place.leader).call(
        methods.broker.produceOnce,
        { acks: -1, partitions: [{ ...place, batch }] },
        { timeoutMs },
      );
      expect(results).toMatchObject([{ baseOffset: 0, error: null }]);
      assignOffsetAndEpoch(batch, 0, place.leaderEpoch);
      this.written.push(batch);
    }
  }

  private async readAll(place: Place): Promise<Buffer> {
    const { results } = await this.connection(place.leader).call(
      methods.broker.fetchOnce,
      { partitions: [{ ...place, offset: 0 }] },
      { timeoutMs },
    );
    return results[0]!.batches;
  }
}
