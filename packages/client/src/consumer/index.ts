export { Consumer, type CommittedPosition, type OffsetCommitInput } from './consumer';
export type { ConsumerEventName, ConsumerEvents, ConsumerListener } from './consumer-events';
export type {
  AssignedStart,
  ConsumerOptions,
  Deserializer,
  PositionPolicy,
  StartPosition,
} from './consumer-options';
export { ConsumerRecord, RecordHeaders, type HeaderEntry } from './consumer-record';
export type { HandlerContext, RecordHandler, RunOptions } from './handler-run';
