/** What a person types after a flag, understood or refused with the flag's name. Called by the commands. */
import { brokerSetting, TributaryError } from '@tributary/common';

/** For an option that may be repeated. */
export function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

const MAX_WHOLE_NUMBER = 999_999_999;

export function wholeNumber(text: string, option: string, max = MAX_WHOLE_NUMBER): number {
  const isWhole = /^[0-9]+$/.test(text) && text.length <= String(max).length;
  if (isWhole && Number(text) <= max) return Number(text);
  const message = `${option} ${shownText(text)} is not a whole number from 0 to ${max}`;
  throw new TributaryError('INVALID_ARGUMENT', message);
}

function shownText(text: string): string {
  return text === '' ? 'an empty text' : text;
}

/** Of all brokers: how much replicas that are far behind may read from a leader. */
export const CATCH_UP_SETTING = 'replication.catch.up.bytes.per.second';

/** What `--throttle` says; 0: back to the default. What the brokers would refuse is refused here, before anything is moved. */
export function throttleBytesPerSecond(text: string): number {
  const { min, max } = brokerSetting(CATCH_UP_SETTING);
  const bytes = /^[0-9]{1,16}$/.test(text) ? Number(text) : NaN;
  if (bytes === 0 || (bytes >= min && bytes <= max)) return bytes;
  throw new TributaryError(
    'INVALID_ARGUMENT',
    `--throttle ${shownText(text)} is not a count of bytes a second from ${min} to ${max}`,
    { hint: `0 gives back the default of ${CATCH_UP_SETTING}.` },
  );
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
