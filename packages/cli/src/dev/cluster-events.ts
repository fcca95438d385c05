/**
 * Log lines and ends of processes as single lines for the person at the terminal of `trib dev up`. Pure.
 */
import type { ChildExit } from './child-process';
import { parseLogLine, type LogEntry } from './log-file';

/** Fields that say nothing to that person. */
const HIDDEN_FIELDS = new Set([
  'broker',
  'brokerId',
  'brokerEpoch',
  'clusterId',
  'pid',
  'sessionId',
  'stack',
  'topicId',
  'version',
]);
const MAX_LINE_LENGTH = 240;

/** undefined: not worth a line. */
export function describeLogLine(line: string): string | undefined {
  const entry = parseLogLine(line);
  if (!entry || entry.level === 'debug') return undefined;
  const broker = entry.fields['broker'];
  const who = typeof broker === 'number' ? `broker ${broker}: ` : '';
  const mark = entry.level === 'info' ? '' : `${entry.level.toUpperCase()} `;
  const text = `${mark}${who}${describeDecision(entry) ?? describeFields(entry)}`;
  return text.length > MAX_LINE_LENGTH ? `${text.slice(0, MAX_LINE_LENGTH)}...` : text;
}

/** The controller's journal: about whom, what, and why. */
function describeDecision({ message, fields }: LogEntry): string | undefined {
  if (message !== 'controller decision') return undefined;
  const { who, what, why } = fields;
  if (![who, what, why].every((part) => typeof part === 'string')) return undefined;
  return `as controller: ${who as string}: ${what as string} (${why as string})`;
}

function describeFields({ message, fields }: LogEntry): string {
  const pairs = Object.entries(fields)
    .filter(([name]) => !HIDDEN_FIELDS.has(name))
    .map(([name, value]) => `${name}=${describeValue(value)}`);
  return [message, ...pairs].join(' ');
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
