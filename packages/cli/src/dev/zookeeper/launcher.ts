/**
 * Turns an installation into a running child process, and reaches it with signals. With Java the child is the server
 * itself; with Docker it is the attached `docker run`, and signals go to the container.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { DockerInstallation, JavaInstallation } from './installation';
import { runCommand } from './run-command';
import { loopback } from './ports';

export interface LaunchOptions {
  readonly directory: string;
  readonly dieWithParent: boolean;
  readonly maxHeapMb: number;
}

const setpriv = '/usr/bin/setpriv';
const DOCKER_TIMEOUT_MS = 10_000;

export function launchJava(installation: JavaInstallation, options: LaunchOptions): ChildProcess {
  const parameters = [
    `-Xmx${options.maxHeapMb}m`,
    '-Xms32m',
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    '-Djava.net.preferIPv4Stack=true',
    ...installation.options,
    '-cp',
    installation.classpath.join(':'),
    'org.apache.zookeeper.server.quorum.QuorumPeerMain',
    join(options.directory, 'zoo.cfg'),
  ];
  // Linux only: otherwise a parent that dies by SIGKILL would leave the server behind.
  if (options.dieWithParent && existsSync(setpriv)) {
    const wrapped = ['--pdeathsig', 'KILL', '--', installation.java, ...parameters];
    return launch(setpriv, wrapped, options);
  }
  return launch(installation.java, parameters, options);
}

export function launchDocker(
  installation: DockerInstallation,
  container: ContainerOptions,
  options: LaunchOptions,
): ChildProcess {
  const owner =
    process.getuid && process.getgid ? ['--user', `${process.getuid()}:${process.getgid()}`] : [];
  const parameters = [
    'run',
    '--rm',
    '--name',
    container.name,
    '--network',
    container.network,
    '--publish',
    `${loopback}:${container.port}:${container.port}`,
    '--volume',
    `${options.directory}:/tributary`,
    ...owner,
    installation.image,
    'zkServer.sh',
    'start-foreground',
    '/tributary/zoo.cfg',
  ];
  return launch(installation.docker, parameters, options);
}

export interface ContainerOptions {
  readonly name: string;
  readonly network: string;
  readonly port: number;
}

export async function signalContainer(
  installation: DockerInstallation,
  name: string,
  signal: NodeJS.Signals,
): Promise<void> {
  // A stopped process group inside a container is frozen and thawed by the engine.
  const verbs: Partial<Record<NodeJS.Signals, string[]>> = {
    SIGSTOP: ['pause'],
    SIGCONT: ['unpause'],
  };
  const parameters = [...(verbs[signal] ?? ['kill', '--signal', signal]), name];
  await runCommand(installation.docker, parameters, { timeoutMs: DOCKER_TIMEOUT_MS });
}

function launch(program: string, parameters: string[], options: LaunchOptions): ChildProcess {
  const log = openSync(join(options.directory, 'server.log'), 'a');
  try {
    const child = spawn(program, parameters, {
      stdio: ['ignore', log, log],
      cwd: options.directory,
      // A process group of its own: Ctrl-C must stop the brokers first, and they need ZooKeeper for that.
      detached: true,
    });
    if (!options.dieWithParent) child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}
