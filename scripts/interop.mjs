// npm run interop -- kafka-dump: builds what changed; Kafka's own tools read our files (test/interop). Needs Java 17 and Maven.
import { bootstrap, build } from './bootstrap.mjs';

bootstrap();
build();
await import('../test/dist/interop/main.js');
