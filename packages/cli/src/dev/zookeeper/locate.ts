/**
 * Finds ZooKeeper for `trib dev` and the tests: ZOOKEEPER_HOME, else the Debian package, else jars fetched with apt's
 * client, else Docker. Where nothing can be had it says so in one line instead of throwing.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cachedJars, fetchJars } from './apt-jars';
import type { ZooKeeperInstallation, ZooKeeperUnavailable } from './installation';
import { findJava, howToGetJava } from './java';
import { runCommand } from './run-command';

export interface LocateOptions {
  /** Folder of the project that keeps fetched jars, e.g. `.cache/zookeeper`. */
  readonly cacheDirectory: string;
  /** Default: the process's. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Where the Debian package lies. Default /usr/share/java. */
  readonly debianDirectory?: string;
  /** Default true. */
  readonly allowDownload?: boolean;
  /** Told one line before a step that takes long. */
  readonly onProgress?: (line: string) => void;
}

export const zooKeeperImage = 'zookeeper:3.9';
const DOCKER_TIMEOUT_MS = 5_000;
const quiet = [
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
  // This client never sends the read-only byte; the server would warn at each connect.
  '-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.ZooKeeperServer=error',
];

export async function locateZooKeeper(
  options: LocateOptions,
): Promise<ZooKeeperInstallation | ZooKeeperUnavailable> {
  const environment = options.environment ?? process.env;
  const home = environment['ZOOKEEPER_HOME'];
  if (home && !hasJars(home)) {
    return {
      unavailable: `ZOOKEEPER_HOME=${home} has no lib/zookeeper-*.jar: unpack the -bin tarball of Apache ZooKeeper there, or unset it`,
    };
  }
  const java = await findJava(environment);
  const found = java === undefined ? { failed: howToGetJava } : await findJars(options, home);
  if ('classpath' in found && java !== undefined) {
    return { kind: 'java', java, options: quiet, ...found };
  }
  const reason = 'failed' in found ? found.failed : howToGetJava;
  const engine = await runCommand('docker', ['info', '--format', '{{.ServerVersion}}'], {
    timeoutMs: DOCKER_TIMEOUT_MS,
  });
  if (engine.ok) {
    return { kind: 'docker', docker: 'docker', image: zooKeeperImage, source: 'Docker' };
  }
  return { unavailable: `${reason}; and no Docker engine answers` };
}

type Jars =
  { readonly classpath: readonly string[]; readonly source: string } | { readonly failed: string };

async function findJars(options: LocateOptions, home: string | undefined): Promise<Jars> {
  if (home) return { classpath: [join(home, 'lib', '*')], source: `ZOOKEEPER_HOME=${home}` };
  const directory = options.debianDirectory ?? '/usr/share/java';
  const debian = join(directory, 'zookeeper.jar');
  if (existsSync(debian)) {
    // The manifest of this jar names all that it depends on, but no logging binding.
    const logging = join(directory, 'slf4j-simple.jar');
    return { classpath: existsSync(logging) ? [debian, logging] : [debian], source: debian };
  }
  const cached = cachedJars(options.cacheDirectory);
  if (cached) return { classpath: cached, source: options.cacheDirectory };
  if (options.allowDownload === false) {
    return { failed: 'ZooKeeper is not installed and may not be downloaded' };
  }
  options.onProgress?.('fetching ZooKeeper with apt (2.3 MB, once)');
  const fetched = await fetchJars(options.cacheDirectory);
  if ('jars' in fetched) return { classpath: fetched.jars, source: options.cacheDirectory };
  return {
    failed: `ZooKeeper could not be fetched (${fetched.failed}): install Debian's package zookeeper, or set ZOOKEEPER_HOME`,
  };
}

function hasJars(home: string): boolean {
  const lib = join(home, 'lib');
  return existsSync(lib) && readdirSync(lib).some((name) => /^zookeeper-\d.*\.jar$/.test(name));
}
