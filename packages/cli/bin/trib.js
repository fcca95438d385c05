#!/usr/bin/env node
const entry = process.argv[2] === 'dev' ? '../dist/main-dev.js' : '../dist/main.js';
void require(entry).main(process.argv);
