/**
 * Log lines and ends of processes as single lines for the person at the terminal of `trib dev up`. Pure.
 */
import type { ChildExit } from './child-process';
import { parseLogLine } from './log-file';

/** Fields that say nothing to that person. */
const HIDDEN_FIELDS = new Set(['broker', 'pid', 'version', 'stack', 'brokerEpoch', 'topicId']);
const MAX_LINE_LENGTH = 240;

/** undefined: not worth a line. */
export function describeLogLine(line: string): string | undefined {
  const entry = parseLogLine(line);
  if (!entry || entry.level === 'debug') return undefined;
  const broker = entry.fields['broker'];
  const who = typeof broker === 'number' ? `broker ${broker}: ` : '';
  const mark = entry.level === 'info' ? '' : `${entry.level.toUpperCase()} `;
  const fields = Object.entries(entry.fields)
    .filter(([name]) => !HIDDEN_FIELDS.has(name))
    .map(([name, value]) => `${name}=${describeValue(value)}`);
  const text = [`${mark}${who}${entry.message}`, ...fields].join(' ');
  return text.length > MAX_LINE_LENGTH ? `${text.slice(0, MAX_LINE_LENGTH)}...` : text;
}

export function describeDeath(who: string, exit: ChildExit, complaint: string | undefined): string {
  const how = exit.signal ? `was ended by ${exit.signal}` : `ended with exit code ${exit.code}`;
  const why = complaint ? (parseLogLine(complaint)?.message ?? complaint) : undefined;
  return `${who} ${how}${why ? `: ${why}` : ''}`;
}

function describeValue(value: unknown): string {
  if (typeof value === 'string') return value.includes(' ') ? JSON.stringify(value) : value;
  if (typeof value === 'object' && value !== null && 'message' in value) {
    return JSON.stringify(value.message);
  }
  return JSON.stringify(value) ?? '';
}
