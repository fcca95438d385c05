/**
 * A command line that cannot be understood, told as every other failure is: in three lines, or as one JSON object where
 * JSON was asked for. Called by the frame of the commands, with the words of the parser.
 */
import { TributaryError } from '@tributary/common';
import type { Command } from 'commander';
import { renderFailure } from './failure';

export function usageFailure(command: Command, complaint: string, argv: readonly string[]): string {
  const [message = '', suggestion] = complaint.replace(/^error: /, '').split('\n(');
  const error = new TributaryError('INVALID_ARGUMENT', message, {
    hint: suggestion?.replace(/\)$/, '') ?? `See ${pathOf(command)} --help.`,
  });
  return renderFailure(error, { json: wantsJson(argv), debug: false });
}

/** Parsing ended early, perhaps before this option. */
function wantsJson(argv: readonly string[]): boolean {
  return /(^| )(-o ?|--output[= ])json( |$)/.test(argv.join(' '));
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
