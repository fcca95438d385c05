// npm run --silent bench -- SUITE ...: builds what changed and runs the bench (test/performance).
import { bootstrap, build } from './bootstrap.mjs';

bootstrap();
build();
await import('../test/dist/performance/main.js');
