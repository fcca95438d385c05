/**
 * The processes' logger: winston behind the Logger port. One line an incident, always: a JSON object for
 * machines, or readable text for a terminal. Errors among the fields become their code and message.
 */
import winston from 'winston';
import { TributaryError } from '@tributary/common';
import type { LogFields, Logger } from '@tributary/common';

export interface LoggerOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly format: 'json' | 'text';
  /** On every line: broker id. */
  readonly fields?: LogFields;
  /** Default: stdout. */
  readonly stream?: NodeJS.WritableStream;
}

export function createLogger(options: LoggerOptions): Logger {
  const winstonLogger = winston.createLogger({
    level: options.level,
    defaultMeta: { ...options.fields },
    format: winston.format.printf(options.format === 'json' ? jsonLine : textLine),
    transports: [new winston.transports.Stream({ stream: options.stream ?? process.stdout })],
  });
  const at = (level: LoggerOptions['level']) => (message: string, fields?: LogFields) => {
    winstonLogger.log({ level, message, fields });
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function jsonLine(entry: winston.Logform.TransformableInfo): string {
  const { level, message, fields, ...meta } = entry;
  const line = {
    time: new Date().toISOString(),
    level,
    message,
    ...meta,
    ...(fields as LogFields),
  };
  return JSON.stringify(line, replacer);
}

/** Reads from the holder: JSON.stringify has already called toJSON on the value that it passes. */
function replacer(this: unknown, key: string): unknown {
  return plain((this as Record<string, unknown>)[key]);
}

function textLine(entry: winston.Logform.TransformableInfo): string {
  const { level, message, fields, ...meta } = entry;
  const time = new Date().toISOString().slice(11, 23);
  const pairs = Object.entries({ ...meta, ...(fields as LogFields) })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${textValue(plain(value))}`);
  const line = [time, level.toUpperCase().padEnd(5), String(message), ...pairs].join(' ');
  return line.replace(/[\r\n]+/g, ' ');
}

function textValue(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"=]+$/.test(value)) return value;
  return JSON.stringify(value, replacer) ?? '';
}

/** What JSON cannot say by itself. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof TributaryError) return { ...value.toJSON(), cause: causeOf(value) };
  if (value instanceof Error) {
    return { name: value.name, message: value.message, stack: value.stack, cause: causeOf(value) };
  }
  return value;
}

function causeOf(error: Error): string | undefined {
  return error.cause instanceof Error ? error.cause.message : undefined;
}
