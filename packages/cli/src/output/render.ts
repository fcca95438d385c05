/**
 * How results reach a person or a program: data on stdout as a table or as JSON, all else on stderr.
 * Column names equal JSON keys. Called by every command.
 */
import Table from 'cli-table3';

export type OutputFormat = 'table' | 'json';

export type Cell = string | number | boolean | null;
export type Row = Readonly<Record<string, Cell | readonly Cell[]>>;

const borderless = {
  top: '', 'top-mid': '', 'top-left': '', 'top-right': '',
  bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '',
  left: '', 'left-mid': '', mid: '', 'mid-mid': '',
  right: '', 'right-mid': '', middle: '  ',
}; // prettier-ignore

/** Rows under a heading of the given columns; no rows: the heading alone. */
export function renderTable(columns: readonly string[], rows: readonly Row[]): string {
  const table = new Table({
    head: columns.map((column) => column.toUpperCase()),
    chars: borderless,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  });
  for (const row of rows) table.push(columns.map((column) => cellText(row[column])));
  const lines = table.toString().split('\n');
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

function cellText(cell: Cell | readonly Cell[] | undefined): string {
  if (cell === undefined || cell === null) return '-';
  if (Array.isArray(cell)) return cell.length === 0 ? '-' : cell.join(',');
  return String(cell);
}

/** One JSON document; bigint becomes a string. */
export function renderJson(document: unknown): string {
  return `${JSON.stringify(document, bigintAsString, 2)}\n`;
}

/** One line of newline-delimited JSON. */
export function renderJsonLine(document: unknown): string {
  return `${JSON.stringify(document, bigintAsString)}\n`;
}

function bigintAsString(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
