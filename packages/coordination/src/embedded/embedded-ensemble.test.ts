import {
  describeClusterNounsContract,
  describeCoordinatorContract,
  describePreemptionContract,
  EmbeddedHarness,
} from '@tributary/testkit';

describeCoordinatorContract('embedded', () => Promise.resolve(new EmbeddedHarness()));
describeClusterNounsContract('embedded', () => Promise.resolve(new EmbeddedHarness()));
describePreemptionContract('embedded', () => Promise.resolve(new EmbeddedHarness()));
