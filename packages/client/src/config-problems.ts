/**
 * Collects what is wrong with a set of settings, so that one error tells all of it. Called where a client, a
 * producer or a consumer is made.
 */
import { TributaryError } from '@tributary/common';

export class Problems {
  private readonly found: string[] = [];

  add(problem: string): void {
    this.found.push(problem);
  }

  unknownSettings(options: object, known: ReadonlySet<string>): void {
    for (const name of Object.keys(options)) {
      if (!known.has(name)) this.add(`${name} is not a setting (${[...known].join(', ')})`);
    }
  }

  text(name: string, value: unknown): void {
    if (value === undefined) return;
    if (typeof value !== 'string' || value === '') this.add(`${name} is not a text`);
  }

  flag(name: string, value: unknown): void {
    if (value !== undefined && typeof value !== 'boolean') this.add(`${name} is not true or false`);
  }

  milliseconds(name: string, value: unknown, min = 1): void {
    this.wholeNumber(name, value, { min, max: 2 ** 31 - 1 });
  }

  wholeNumber(name: string, value: unknown, bounds: { min: number; max: number }): void {
    if (value === undefined) return;
    const whole = typeof value === 'number' && Number.isSafeInteger(value);
    if (!whole || value < bounds.min || value > bounds.max) {
      const shown = typeof value === 'bigint' ? `${value}n` : JSON.stringify(value);
      this.add(`${name}=${shown} is not a whole number from ${bounds.min} to ${bounds.max}`);
    }
  }

  oneOf(name: string, value: unknown, allowed: readonly string[]): void {
    if (value === undefined || allowed.includes(value as string)) return;
    this.add(`${name}=${JSON.stringify(value)} is not one of ${allowed.join(', ')}`);
  }

  throwIfAny(what: string): void {
    if (this.found.length === 0) return;
    throw new TributaryError(
      'INVALID_CONFIG',
      `the configuration of ${what} is wrong: ${this.found.join('; ')}`,
      { details: { problems: this.found.length } },
    );
  }
}
