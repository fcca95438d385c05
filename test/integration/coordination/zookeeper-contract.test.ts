import {
  CoordinatedGroupsHarness,
  describeCoordinatorContract,
  describeGroupStoreContract,
  TestEnsemble,
} from '@tributary/testkit';

/**
 * The contracts of Coordinator and GroupStore on a real ZooKeeper node.
 */
let ensemble: TestEnsemble;
beforeAll(async () => {
  ensemble = await TestEnsemble.start();
});
afterAll(() => ensemble.stop());

describeCoordinatorContract('ZooKeeper', () => Promise.resolve(ensemble.harness()));
describeGroupStoreContract('ZooKeeper', () =>
  Promise.resolve(new CoordinatedGroupsHarness(ensemble.harness())),
);
