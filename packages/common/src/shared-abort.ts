/**
 * The abort controller of something that lives long and on whose end many calls wait at once (a client, a
 * session): as many listeners as there are partitions are no leak, and Node must not warn of one. Called by the SDK.
 */
import { setMaxListeners } from 'node:events';

export function sharedAbort(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
