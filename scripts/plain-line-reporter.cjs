// Closes a jest run with one line that any tool can read: `N passed, N failed`.
module.exports = class PlainLineReporter {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests > 0 ? `, ${results.numPendingTests} skipped` : '';
    process.stdout.write(`${results.numPassedTests} passed, ${failed} failed${skipped}\n`);
  }
};
