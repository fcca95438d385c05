import { describeCoordinatorContract, EmbeddedHarness } from '@tributary/testkit';

describeCoordinatorContract('embedded', () => Promise.resolve(new EmbeddedHarness()));
