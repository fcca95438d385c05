export { dumpPath, type DumpedRecord, type DumpLine, type DumpOptions } from './dump-path';
export { InspectionReport, type Damage, type InspectionCounts } from './report';
export { verifyPath } from './verify-path';
export type { InspectionContext } from './verify-segment';
