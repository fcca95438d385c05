/**
 * What it takes to run ZooKeeper on this machine, as `locateZooKeeper` found it and `ZooKeeperEnsemble` uses it.
 */
export interface JavaInstallation {
  readonly kind: 'java';
  readonly java: string;
  /** Entries for -cp, in order. */
  readonly classpath: readonly string[];
  /** -D options that this installation's logging library needs. */
  readonly options: readonly string[];
  /** Where it came from, for people. */
  readonly source: string;
}

export interface DockerInstallation {
  readonly kind: 'docker';
  readonly docker: string;
  readonly image: string;
  readonly source: string;
}

export type ZooKeeperInstallation = JavaInstallation | DockerInstallation;

export interface ZooKeeperUnavailable {
  /** One line: why there is none, and what to do. */
  readonly unavailable: string;
}
