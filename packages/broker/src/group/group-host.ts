/** What the broker's side of groups is given. */
import type { Clock, Logger } from '@tributary/common';
import type { GroupStore } from '@tributary/coordination';
import type { Acceptor } from '@tributary/protocol';
import type { GroupLimits } from './group-limits';

export interface GroupHandlersOptions {
  readonly groupStore: GroupStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Who answers a Hello, as of now. */
  readonly acceptor: () => Acceptor;
  readonly limits?: Partial<GroupLimits>;
}

export interface GroupHost extends GroupHandlersOptions {
  readonly limits: GroupLimits;
}
