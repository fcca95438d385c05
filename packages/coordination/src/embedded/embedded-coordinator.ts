/**
 * A client of the embedded ensemble; made by `EmbeddedEnsemble.connect`. The same CoordinatorClient as with ZooKeeper
 * stands on top, so retries and reading back are the same code.
 */
import type { Clock, Logger, Random } from '@tributary/common';
import { CoordinatorClient } from '../session/coordinator-client';
import type { EmbeddedServer } from './embedded-server';
import { EmbeddedLink } from './embedded-session';

export interface EmbeddedCoordinatorOptions {
  readonly sessionTimeoutMs: number;
  readonly chroot: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class EmbeddedCoordinator extends CoordinatorClient {
  /** For the ensemble's faults. */
  readonly link: EmbeddedLink;

  constructor(server: EmbeddedServer, options: EmbeddedCoordinatorOptions) {
    const link = new EmbeddedLink(server, options.sessionTimeoutMs);
    super({ ...options, factory: link });
    this.link = link;
  }
}
