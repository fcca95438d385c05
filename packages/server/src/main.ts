/** The broker process: `node packages/server/dist/main.js --help`. */
import './v8-flags';
import { runBroker } from './run-broker';

void runBroker(process.argv.slice(2), process.env);
