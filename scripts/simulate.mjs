// npm run --silent simulate -- --seeds 1000 ...: builds what changed and runs the simulation (test/simulation).
import { bootstrap, build } from './bootstrap.mjs';

bootstrap();
build();
await import('../test/dist/simulation/main.js');
