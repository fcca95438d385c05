import { settle } from '@tributary/testkit';
import type { DeletionMarker, RegisteredBroker } from '@tributary/coordination';
import { ContextReader, type ContextSources } from './context-reader';
import { registered } from './controller-script.fixture';
import type { ControllerEvent } from './controller-event';

function describeEvent(event: ControllerEvent): string {
  const epochs = (brokers: readonly RegisteredBroker[]): string =>
    brokers.map(({ brokerEpoch }) => brokerEpoch).join(',');
  if (event.type === 'elected') return `elected with ${epochs(event.context.brokers)}`;
  if (event.type === 'brokers-changed') return `brokers ${epochs(event.brokers)}`;
  return event.type;
}

it('what a watch tells at the very end of loading comes after the context, not before it', async () => {
  const events: string[] = [];
  let tell: (brokers: RegisteredBroker[]) => void = () => undefined;
  let finish: (markers: DeletionMarker[]) => void = () => undefined;
  const deletions = new Promise<DeletionMarker[]>((resolve) => (finish = resolve));
  const idle = { stop: () => undefined };
  const sources = {
    registry: {
      list: () => Promise.resolve([registered(1)]),
      watch: (onChange: typeof tell) => {
        tell = onChange;
        return idle;
      },
    },
    topics: {
      names: () => Promise.resolve([]),
      deletions: () => deletions,
      watchNames: () => idle,
      watchDeletions: () => idle,
    },
    states: {},
    settings: { readAll: () => Promise.resolve([]) },
    owed: { readAll: () => Promise.resolve([]) },
    barrier: () => Promise.resolve(),
  } as unknown as ContextSources;
  const reader = new ContextReader(sources, {
    event: (event) => events.push(describeEvent(event)),
    knownTopics: () => new Set(),
    failed: () => undefined,
  });
  const loaded = reader.load();
  await settle();
  void deletions.then(() => tell([registered(1, 1)]));
  finish([]);
  await loaded;
  expect(events).toEqual(['elected with 101', 'brokers 1101']);
  reader.close();
});
