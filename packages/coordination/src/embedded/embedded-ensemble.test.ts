import {
  describeClusterNounsContract,
  describeCoordinatorContract,
  EmbeddedHarness,
} from '@tributary/testkit';

describeCoordinatorContract('embedded', () => Promise.resolve(new EmbeddedHarness()));
describeClusterNounsContract('embedded', () => Promise.resolve(new EmbeddedHarness()));
