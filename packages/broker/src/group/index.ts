export { groupHandlers } from './group-handlers';
export type { GroupHandlersOptions } from './group-host';
export { groupLimits, type GroupLimits } from './group-limits';
