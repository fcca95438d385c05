// npm run --silent chaos -- SCENARIO ...: builds what changed and runs the chaos runner (test/chaos).
import { bootstrap, build } from './bootstrap.mjs';

bootstrap();
build();
await import('../test/dist/chaos/main.js');
