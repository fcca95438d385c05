import { Writable } from 'node:stream';
import { DataOutput, OutputClosed } from './standard-output';

/** Takes `takes` writes, then fails every one. */
function failing(code: string, takes: number): Writable {
  let taken = 0;
  return new Writable({
    highWaterMark: 1,
    write(_chunk, _encoding, done) {
      taken += 1;
      if (taken <= takes) return done();
      done(Object.assign(new Error(`write ${code}`), { code }));
    },
  });
}

describe('standard output', () => {
  it('that its reader closes ends the command quietly', async () => {
    const output = new DataOutput(failing('EPIPE', 1));
    await output.write(Buffer.from('a\n'));
    await expect(output.write(Buffer.from('b\n'))).rejects.toBeInstanceOf(OutputClosed);
    await expect(output.write(Buffer.from('c\n'))).rejects.toBeInstanceOf(OutputClosed);
    await expect(output.flushed()).rejects.toBeInstanceOf(OutputClosed);
  });

  it('that cannot take the data is a failure with a code', async () => {
    const output = new DataOutput(failing('ENOSPC', 0));
    await expect(output.write(Buffer.from('a\n'))).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      message: 'cannot write to standard output: write ENOSPC',
    });
  });

  it('is watched also where a command writes past this object', async () => {
    const stream = failing('EPIPE', 0);
    const output = new DataOutput(stream);
    stream.write('table\n');
    await expect(output.flushed()).rejects.toBeInstanceOf(OutputClosed);
  });
});
