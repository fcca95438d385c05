/**
 * `npm run interop -- kafka-dump`: Kafka's own tools read the files that our brokers wrote. `kafka-vectors` writes the
 * batches of Kafka's Java client anew that the tests of packages/record read. Needs Java 17, Maven, and Maven Central
 * (45 MB, once), so it is no part of the suite. Exits non-zero when anything differs.
 */
import { errorCodes, TributaryError } from '@tributary/common';
import { dumpWithKafka } from './kafka-dump';
import { Kafka } from './kafka';

async function main(args: readonly string[]): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const kafka = await Kafka.fetch(say);
  switch (args[0]) {
    case 'kafka-dump': {
      const { differences, summary } = await dumpWithKafka(kafka, say);
      for (const difference of differences) process.stdout.write(`DIFFERENT: ${difference}\n`);
      process.stdout.write(`${summary}\n`);
      if (differences.length > 0) process.exitCode = 1;
      return;
    }
    case 'kafka-vectors':
      await kafka.run('WriteBatches', ['packages/record/golden/kafka']);
      return;
    default:
      throw new TributaryError('INVALID_ARGUMENT', `${args[0] ?? 'nothing'}: no such command`, {
        hint: 'npm run interop -- kafka-dump | kafka-vectors',
      });
  }
}

main(process.argv.slice(2)).catch((thrown: unknown) => {
  const error = TributaryError.from(thrown);
  process.stderr.write(`error: ${error.message}\nhint: ${error.hint}\ncode=${error.code}\n`);
  process.exitCode = errorCodes[error.code].exitCode;
});
