/** What a person types after a flag, understood or refused with the flag's name. Called by the commands. */
import { TributaryError } from '@tributary/common';

/** For an option that may be repeated. */
export function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

export function wholeNumber(text: string, option: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) {
    const given = text === '' ? 'an empty text' : text;
    throw new TributaryError('INVALID_ARGUMENT', `${option} ${given} is not a whole number`);
  }
  return Number(text);
}

/** `name=value`, several times. */
export function parseConfigs(pairs: readonly string[]): Record<string, string> {
  const configs: Record<string, string> = {};
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    if (equals <= 0) {
      throw new TributaryError('INVALID_ARGUMENT', `--config ${pair} has not the form name=value`);
    }
    const name = pair.slice(0, equals);
    if (Object.hasOwn(configs, name)) {
      throw new TributaryError('INVALID_ARGUMENT', `--config ${name} is given twice`);
    }
    configs[name] = pair.slice(equals + 1);
  }
  return configs;
}

/** `1,2,3` */
export function brokerIds(text: string, option: string): number[] {
  if (text.trim() === '') {
    throw new TributaryError('INVALID_ARGUMENT', `${option} names no broker; its form is 1,2,3`);
  }
  return text.split(',').map((id) => wholeNumber(id.trim(), option));
}
