/**
 * Which address of a broker a caller is told: that of the listener it asked for, by default the one that it
 * came in on. Called by the metadata and admin handlers.
 */
import { TributaryError } from '@tributary/common';
import type { CallContext } from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';

/** Throws INVALID_ARGUMENT when no broker has a listener of that name. */
export function listenerFor(asked: string, context: CallContext, image: MetadataImage): string {
  if (asked === '') return context.listener;
  const known = new Set(
    image.brokers().flatMap((broker) => broker.endpoints.map(({ listener }) => listener)),
  );
  if (known.has(asked)) return asked;
  throw new TributaryError('INVALID_ARGUMENT', `no broker has a listener named ${asked}`, {
    hint: `The listeners are: ${[...known].join(', ')}.`,
  });
}

export function endpointOn(
  image: MetadataImage,
  brokerId: number,
  listener: string,
): { readonly host: string; readonly port: number } | undefined {
  const broker = image.broker(brokerId);
  return broker?.endpoints.find((endpoint) => endpoint.listener === listener);
}
