/**
 * The tables of the hot messages: those of the Produce, Fetch and Follow streams. Rare branches (hello, attach,
 * structured records, errors) are delegated to proto-loader. Invariant: names, numbers and types equal
 * proto/ (tested against its descriptors). Called by codec.ts.
 */
import type { Codec } from '../method';
import * as f from './fields';
import { MessageTable, tableCodec } from './message-table';

type AnyCodec = Codec<unknown, unknown>;

/** @param general proto-loader's codec of a message, by its name. */
export function hotCodecs(
  general: (messageName: string) => AnyCodec,
): ReadonlyMap<string, AnyCodec> {
  const tables = hotTables(general);
  return new Map(Object.entries(tables).map(([name, table]) => [name, tableCodec(name, table)]));
}

export function hotTables(general: (name: string) => AnyCodec): Record<string, MessageTable> {
  return { ...produceTables(general), ...fetchTables(general), ...followTables(general) };
}

function produceTables(general: (name: string) => AnyCodec): Record<string, MessageTable> {
  const partition = new MessageTable({
    topic: f.string(1),
    topicId: f.string(2),
    partition: f.int32(3),
    leaderEpoch: f.int32(4),
    batch: f.bytes(5, 'payload'),
    records: f.delegated(6, general('StructuredRecords'), 'payload'),
    expectedOffset: f.int64(7, '_expectedOffset'),
  });
  const request = new MessageTable({
    correlationId: f.uint32(1),
    timeoutMs: f.uint32(2),
    acks: f.int32(3),
    partitions: f.repeated(f.message(4, partition)),
  });
  const result = new MessageTable({
    topic: f.string(1),
    topicId: f.string(2),
    partition: f.int32(3),
    baseOffset: f.int64(4),
    logStartOffset: f.int64(5),
    duplicate: f.bool(6),
    error: f.delegated(7, general('Error')),
  });
  const response = new MessageTable({
    correlationId: f.uint32(1),
    results: f.repeated(f.message(2, result)),
    last: f.bool(3),
  });
  const credit = new MessageTable({ bytes: f.uint32(1) });
  return {
    ProduceUp: new MessageTable({
      hello: f.delegated(1, general('ClientHello'), 'body'),
      request: f.message(2, request, 'body'),
    }),
    ProduceDown: new MessageTable({
      hello: f.delegated(1, general('ServerHello'), 'body'),
      response: f.message(2, response, 'body'),
      credit: f.message(3, credit, 'body'),
    }),
    // The unary twins carry the same bodies.
    ProduceRequest: request,
    ProduceResponse: response,
  };
}

function fetchTables(general: (name: string) => AnyCodec): Record<string, MessageTable> {
  const partition = new MessageTable({
    topic: f.string(1),
    topicId: f.string(2),
    partition: f.int32(3),
    leaderEpoch: f.int32(4),
    offset: f.int64(5),
    maxBytes: f.uint32(6),
    lastEpoch: f.int32(7, '_lastEpoch'),
  });
  const request = new MessageTable({
    correlationId: f.uint32(1),
    maxWaitMs: f.uint32(2),
    minBytes: f.uint32(3),
    maxBytes: f.uint32(4),
    structured: f.bool(5),
    partitions: f.repeated(f.message(6, partition)),
  });
  const result = new MessageTable({
    topic: f.string(1),
    topicId: f.string(2),
    partition: f.int32(3),
    highWatermark: f.int64(4),
    logStartOffset: f.int64(5),
    batches: f.bytes(6),
    records: f.repeated(f.delegated(7, general('StructuredRecord'))),
    error: f.delegated(8, general('Error')),
    divergingOffset: f.int64(9, '_divergingOffset'),
  });
  const response = new MessageTable({
    correlationId: f.uint32(1),
    results: f.repeated(f.message(2, result)),
    last: f.bool(3),
  });
  return {
    FetchUp: new MessageTable({
      hello: f.delegated(1, general('ClientHello'), 'body'),
      request: f.message(2, request, 'body'),
    }),
    FetchDown: new MessageTable({
      hello: f.delegated(1, general('ServerHello'), 'body'),
      response: f.message(2, response, 'body'),
    }),
    FetchRequest: request,
    FetchResponse: response,
  };
}

function followTables(general: (name: string) => AnyCodec): Record<string, MessageTable> {
  const acknowledge = new MessageTable({
    topicId: f.string(1),
    partition: f.int32(2),
    leaderEpoch: f.int32(3),
    attachId: f.uint64(4),
    logEndOffset: f.int64(5),
    markId: f.uint64(6),
    creditBytes: f.uint32(7),
    logStartOffset: f.int64(8),
  });
  const push = new MessageTable({
    topicId: f.string(1),
    partition: f.int32(2),
    leaderEpoch: f.int32(3),
    attachId: f.uint64(4),
    fromOffset: f.int64(5),
    batches: f.bytes(6),
    highWatermark: f.int64(7),
    logStartOffset: f.int64(8),
    leaderLogEndOffset: f.int64(9),
    markId: f.uint64(10),
  });
  const mark = new MessageTable({
    topicId: f.string(1),
    partition: f.int32(2),
    leaderEpoch: f.int32(3),
    attachId: f.uint64(4),
    highWatermark: f.int64(5),
    leaderLogEndOffset: f.int64(6),
    markId: f.uint64(7),
    logStartOffset: f.int64(8),
  });
  const marks = new MessageTable({ marks: f.repeated(f.message(1, mark)), together: f.bool(2) });
  const acknowledges = new MessageTable({ acknowledges: f.repeated(f.message(1, acknowledge)) });
  return {
    FollowUp: new MessageTable({
      hello: f.delegated(1, general('ClientHello'), 'body'),
      attach: f.delegated(2, general('Attach'), 'body'),
      acknowledge: f.message(3, acknowledge, 'body'),
      detach: f.delegated(4, general('Detach'), 'body'),
      acknowledges: f.message(5, acknowledges, 'body'),
    }),
    FollowDown: new MessageTable({
      hello: f.delegated(1, general('ServerHello'), 'body'),
      attached: f.delegated(2, general('AttachResult'), 'body'),
      push: f.message(3, push, 'body'),
      marks: f.message(4, marks, 'body'),
      detached: f.delegated(5, general('Detached'), 'body'),
      move: f.delegated(6, general('Move'), 'body'),
    }),
  };
}
