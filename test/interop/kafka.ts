/** Kafka's jars, fetched once with Maven, and its tools, run with Java. Called by the interop command. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TributaryError } from '@tributary/common';

/** Equals the one in java/pom.xml. */
export const KAFKA_VERSION = '3.9.1';
const MIN_JAVA = 17;
const JAVA_SOURCES = join('test', 'interop', 'java');
const OUTPUT_BYTES_MAX = 256 * 2 ** 20;

const run = promisify(execFile);

export class Kafka {
  private constructor(private readonly jars: string) {}

  /** Run from the root of the checkout. Throws UNAVAILABLE, saying what is missing. */
  static async fetch(say: (line: string) => void): Promise<Kafka> {
    await checkJava();
    const directory = join('.cache', `kafka-${KAFKA_VERSION}`);
    if (!existsSync(directory) || !readdirSync(directory).some(isClients)) {
      say(`fetching Kafka ${KAFKA_VERSION} from Maven Central ...`);
      mkdirSync(directory, { recursive: true });
      // prettier-ignore
      await execute('mvn', ['-q', '-B', '-f', join(JAVA_SOURCES, 'pom.xml'), 'dependency:copy-dependencies',
        '-DincludeScope=runtime', `-DoutputDirectory=${join(process.cwd(), directory)}`], 'Install Maven, and see that it reaches Maven Central.');
    }
    return new Kafka(join(directory, '*'));
  }

  /** A program of test/interop/java. Gives what it prints. */
  run(program: string, args: readonly string[]): Promise<string> {
    return this.java([join(JAVA_SOURCES, `${program}.java`), ...args]);
  }

  /** Kafka's kafka-dump-log.sh. */
  dumpLog(args: readonly string[]): Promise<string> {
    return this.java(['kafka.tools.DumpLogSegments', ...args]);
  }

  private java(args: readonly string[]): Promise<string> {
    return execute('java', ['-cp', this.jars, ...args], 'Look at what Java says.');
  }
}

async function checkJava(): Promise<void> {
  const hint = `Install Java ${MIN_JAVA} or newer (a JDK: programs are run from their source).`;
  const text = await execute('java', ['--version'], hint);
  const major = Number(/^\S+ ([0-9]+)/.exec(text)?.[1]);
  if (major >= MIN_JAVA) return;
  throw new TributaryError('UNAVAILABLE', `Java ${major} is older than ${MIN_JAVA}`, { hint });
}

async function execute(command: string, args: readonly string[], hint: string): Promise<string> {
  try {
    const { stdout } = await run(command, [...args], { maxBuffer: OUTPUT_BYTES_MAX });
    return stdout;
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    throw new TributaryError('UNAVAILABLE', `${command} failed: ${message}\n${stderr}`, {
      cause: error,
      hint,
    });
  }
}

function isClients(name: string): boolean {
  return name === `kafka-clients-${KAFKA_VERSION}.jar`;
}
