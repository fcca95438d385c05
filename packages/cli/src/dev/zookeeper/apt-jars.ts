/**
 * Fetches the six jars that ZooKeeper needs with apt's own client and unpacks them into a cache folder: no root, no
 * system package. A folder that exists is complete (it is renamed into place), so several processes may try at once.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './run-command';

const packages = [
  'libzookeeper-java',
  'libslf4j-java',
  'libdropwizard-metrics-java',
  'libsnappy-java',
] as const;

/** zookeeper-jute stands before zookeeper: newer packages need that order. */
export const jarNames = [
  'zookeeper-jute.jar',
  'zookeeper.jar',
  'slf4j-api.jar',
  'slf4j-simple.jar',
  'metrics-core.jar',
  'snappy-java.jar',
] as const;

const UPDATE_TIMEOUT_MS = 120_000;
const DOWNLOAD_TIMEOUT_MS = 120_000;
const UNPACK_TIMEOUT_MS = 30_000;

export type FetchedJars = { readonly jars: readonly string[] } | { readonly failed: string };

export function cachedJars(cacheDirectory: string): readonly string[] | undefined {
  const jars = jarNames.map((name) => join(cacheDirectory, 'jars', name));
  return jars.every((jar) => existsSync(jar)) ? jars : undefined;
}

export async function fetchJars(cacheDirectory: string): Promise<FetchedJars> {
  const present = cachedJars(cacheDirectory);
  if (present) return { jars: present };
  mkdirSync(cacheDirectory, { recursive: true });
  const work = mkdtempSync(join(cacheDirectory, 'fetch-'));
  try {
    const problem = (await download(work)) ?? (await unpack(work)) ?? collect(work);
    if (problem !== undefined) return { failed: problem };
    return install(work, cacheDirectory);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** undefined: done. With the machine's package lists, else with lists of our own. */
async function download(work: string): Promise<string | undefined> {
  const options = { timeoutMs: DOWNLOAD_TIMEOUT_MS, directory: work };
  const known = await runCommand('apt-get', ['-q', 'download', ...packages], options);
  if (known.ok) return undefined;
  const own = privateAptState(work);
  const update = await runCommand('apt-get', ['-q', ...own, 'update'], {
    timeoutMs: UPDATE_TIMEOUT_MS,
  });
  if (!update.ok) return `apt-get update: ${lastLine(update.output)}`;
  const fetched = await runCommand('apt-get', ['-q', ...own, 'download', ...packages], options);
  return fetched.ok ? undefined : `apt-get download: ${lastLine(fetched.output)}`;
}

function privateAptState(work: string): string[] {
  const state = join(work, 'apt-state');
  const cache = join(work, 'apt-cache');
  mkdirSync(join(state, 'lists', 'partial'), { recursive: true });
  mkdirSync(join(cache, 'archives', 'partial'), { recursive: true });
  const settings = [
    `Dir::State=${state}`,
    'Dir::State::status=/var/lib/dpkg/status',
    `Dir::Cache=${cache}`,
    'Debug::NoLocking=1',
    // Without root there is no other user to change to.
    'APT::Sandbox::User=',
  ];
  return settings.flatMap((setting) => ['-o', setting]);
}

async function unpack(work: string): Promise<string | undefined> {
  for (const archive of readdirSync(work).filter((name) => name.endsWith('.deb'))) {
    const result = await runCommand('dpkg', ['-x', archive, 'root'], {
      timeoutMs: UNPACK_TIMEOUT_MS,
      directory: work,
    });
    if (!result.ok) return `dpkg -x ${archive}: ${lastLine(result.output)}`;
  }
  return undefined;
}

function collect(work: string): string | undefined {
  const source = join(work, 'root', 'usr', 'share', 'java');
  const target = join(work, 'jars');
  mkdirSync(target);
  for (const name of jarNames) {
    // The plain names are links to versioned files; copying follows them.
    if (!existsSync(join(source, name))) return `the packages hold no ${name}`;
    copyFileSync(join(source, name), join(target, name));
  }
  return undefined;
}

function install(work: string, cacheDirectory: string): FetchedJars {
  try {
    renameSync(join(work, 'jars'), join(cacheDirectory, 'jars'));
  } catch (error) {
    // Another process was faster; what it put there is as good.
    if (!cachedJars(cacheDirectory)) return { failed: String(error) };
  }
  const jars = cachedJars(cacheDirectory);
  return jars ? { jars } : { failed: `${cacheDirectory} does not hold the jars` };
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}
