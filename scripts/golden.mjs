// npm run golden: builds what changed and writes test/golden anew, for a change of a format on disk that is meant.
import { bootstrap, build } from './bootstrap.mjs';

bootstrap();
build();
await import('../test/dist/golden/write-golden.js');
