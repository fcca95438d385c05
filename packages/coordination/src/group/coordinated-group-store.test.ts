import {
  CoordinatedGroupsHarness,
  describeGroupStoreContract,
  EmbeddedHarness,
} from '@tributary/testkit';

describeGroupStoreContract('embedded', () => {
  const embedded = new EmbeddedHarness();
  return Promise.resolve(new CoordinatedGroupsHarness(embedded, embedded.clock));
});
