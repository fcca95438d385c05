/** The embedded cluster as a process: `node packages/server/dist/embedded.js --ports 9292,9293,9294`. */
import './v8-flags';
import { runEmbedded } from './embedded/run-embedded';

void runEmbedded(process.argv.slice(2));
