/** The commands that talk to a running cluster, and those that look into its files. Called once by main. */
import type { Command } from 'commander';
import { registerBrokerCommands } from './broker';
import { registerClusterCommands } from './cluster';
import { registerConsumeCommand } from './consume';
import { registerDebugCommands } from './debug';
import { registerGroupCommands } from './group';
import { registerPartitionCommands } from './partition';
import { registerProduceCommand } from './produce';
import { registerTopicCommands } from './topic';

export function registerDataCommands(program: Command): void {
  registerTopicCommands(program);
  registerPartitionCommands(program);
  registerProduceCommand(program);
  registerConsumeCommand(program);
  registerGroupCommands(program);
  registerClusterCommands(program);
  registerBrokerCommands(program);
  registerDebugCommands(program);
}
