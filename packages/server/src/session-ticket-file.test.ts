import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SessionTicketFile } from './session-ticket-file';

test('kept for the next process, readable by the owner alone, gone after an orderly end', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ticket-'));
  try {
    const file = new SessionTicketFile(directory);
    expect(file.read()).toBeUndefined();
    file.write({ sessionId: '0a', password: '0b' });
    file.write({ sessionId: '1a', password: '1b' });
    expect(new SessionTicketFile(directory).read()).toEqual({ sessionId: '1a', password: '1b' });
    const [name] = readdirSync(directory);
    expect(statSync(join(directory, name!)).mode & 0o777).toBe(0o600);
    writeFileSync(join(directory, name!), '{"half');
    expect(file.read()).toBeUndefined();
    file.remove();
    expect(readdirSync(directory)).toEqual([]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
