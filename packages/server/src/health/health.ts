/**
 * Readiness as a list of named checks, each either fine or with the reason why not. Checks are asked when
 * somebody asks: they are cheap and synchronous. Called by the HTTP server; filled by `broker-node.ts`.
 */
export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  /** Why not, or what a person should look at although it is. */
  readonly reason?: string;
}

export interface HealthReport {
  readonly ready: boolean;
  readonly checks: readonly HealthCheck[];
}

/** undefined: fine. A string: why not. A warning: fine, but somebody should look. */
export type Check = () => string | { readonly warning: string } | undefined;

export class Health {
  private readonly checks = new Map<string, Check>();

  /** A second check of the same name replaces the first. */
  add(name: string, check: Check): void {
    this.checks.set(name, check);
  }

  report(): HealthReport {
    const checks = [...this.checks].map(([name, check]) => run(name, check));
    return { ready: checks.every((check) => check.ok), checks };
  }
}

function run(name: string, check: Check): HealthCheck {
  try {
    const reason = check();
    if (reason === undefined) return { name, ok: true };
    if (typeof reason === 'string') return { name, ok: false, reason };
    return { name, ok: true, reason: reason.warning };
  } catch (error) {
    return { name, ok: false, reason: `the check failed: ${(error as Error).message}` };
  }
}
