/** `trib group list|describe`. */
import { TributaryError } from '@tributary/common';
import type { Command } from 'commander';
import { renderJson, renderTable } from '../output/render';
import {
  outputFormat,
  timeoutMsOf,
  withClient,
  withConnection,
  type ConnectionOptions,
} from './connection';
import { runCommand } from './run-command';

export function registerGroupCommands(program: Command): void {
  const group = program.command('group').description('list and describe consumer groups');
  withConnection(group.command('list').description('list the groups')).action(
    runCommand(listGroups),
  );
  withConnection(group.command('describe <group>').description('members, owners, offsets and lag of a group'))
    .action(runCommand(describeGroup)); // prettier-ignore
}

async function listGroups(
  _args: readonly string[],
  options: ConnectionOptions,
  command: Command,
): Promise<void> {
  await withClient(options, command, async (client) => {
    const groups = await client.admin().listGroups({ timeoutMs: timeoutMsOf(options) });
    const rows = [...groups].sort().map((group) => ({ group }));
    process.stdout.write(
      outputFormat(options) === 'json' ? renderJson(rows) : renderTable(['group'], rows),
    );
  });
}

async function describeGroup(
  args: readonly string[],
  options: ConnectionOptions,
  command: Command,
): Promise<void> {
  await withClient(options, command, async (client) => {
    const described = await client
      .admin()
      .describeGroup(args[0] as string, { timeoutMs: timeoutMsOf(options) });
    // One member that has only just joined is a group already.
    const { generation, partitions, members } = described;
    if (generation < 0 && partitions.length + members.length === 0) {
      const message = `nobody is, or ever was, in a group ${described.group}`;
      throw new TributaryError('UNKNOWN_GROUP', message, {
        hint: 'List the groups with trib group list. A group begins with its first member, or its first committed offset.',
      });
    }
    if (outputFormat(options) === 'json') {
      process.stdout.write(renderJson(described));
      return;
    }
    process.stdout.write(
      `group ${described.group}  generation ${described.generation}  members ${described.members.length}\n`,
    );
    const rows = described.partitions.map((partition) => ({
      topic: partition.topic,
      partition: partition.partition,
      committedOffset: partition.committedOffset?.toString() ?? null,
      endOffset: partition.endOffset?.toString() ?? null,
      lag: partition.lag?.toString() ?? null,
      member: partition.owner ?? null,
      clientId:
        described.members.find((member) => member.memberId === partition.owner)?.clientId ?? null,
    }));
    process.stdout.write(
      renderTable(
        ['topic', 'partition', 'committedOffset', 'endOffset', 'lag', 'member', 'clientId'],
        rows,
      ),
    );
  });
}
