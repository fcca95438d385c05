/** proto/ as protobufjs reads it, for tests that compare our tables with it. */
import { resolve } from 'node:path';
import { Root } from 'protobufjs';
import { protoFiles } from './proto-definitions';

const directory = resolve(__dirname, '../../../proto');

export const protoRoot = new Root();
protoRoot.resolvePath = (_origin, target) => resolve(directory, target);
protoRoot.loadSync(protoFiles.map((name) => `tributary/v1/${name}.proto`));
protoRoot.resolveAll();
