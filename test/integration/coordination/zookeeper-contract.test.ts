import {
  CoordinatedGroupsHarness,
  describeClusterNounsContract,
  describeCoordinatorContract,
  describeGroupStoreContract,
  describePreemptionContract,
  TestEnsemble,
} from '@tributary/testkit';

/**
 * The contracts of Coordinator, nouns (the fences among them) and GroupStore on a real ZooKeeper node.
 */
let ensemble: TestEnsemble;
beforeAll(async () => {
  ensemble = await TestEnsemble.start();
});
afterAll(() => ensemble.stop());

describeCoordinatorContract('ZooKeeper', () => Promise.resolve(ensemble.harness()));
describeClusterNounsContract('ZooKeeper', () => Promise.resolve(ensemble.harness()));
describePreemptionContract('ZooKeeper', () => Promise.resolve(ensemble.harness()));
describeGroupStoreContract('ZooKeeper', () =>
  Promise.resolve(new CoordinatedGroupsHarness(ensemble.harness())),
);
