import { Metadata, status } from '@grpc/grpc-js';
import { errorCodes, TributaryError, type ErrorCode } from '@tributary/common';
import { fromStatus, toStatus } from './status-mapping';

const received = (code: status, details: string, metadata = new Metadata()) =>
  fromStatus({ code, details, metadata }, '/x.Y/Z to h:1');

describe('a status', () => {
  it.each(Object.keys(errorCodes) as ErrorCode[])('carries %s there and back', (code) => {
    const sent = new TributaryError(code, 'because');
    const onTheWire = toStatus(sent);
    expect(status[onTheWire.code]).toBe(errorCodes[code].grpcStatus);
    expect(onTheWire.details).toBe(`${code}: because`);
    expect(fromStatus(onTheWire, 'x').toJSON()).toEqual(sent.toJSON());
  });

  it('with a trailer that cannot be read is taken by its code', () => {
    const metadata = new Metadata();
    metadata.set('tributary-error-bin', Buffer.from('garbage'));
    expect(received(status.UNAVAILABLE, 'x', metadata).code).toBe('UNAVAILABLE');
  });

  it('without a trailer speaks of the connection', () => {
    expect(received(status.CANCELLED, 'Call cancelled').code).toBe('UNAVAILABLE');
    expect(received(status.INTERNAL, 'Received RST_STREAM with code 2').code).toBe('UNAVAILABLE');
    expect(received(status.DEADLINE_EXCEEDED, 'late').code).toBe('TIMEOUT');
    expect(received(status.UNIMPLEMENTED, 'no').code).toBe('UNSUPPORTED_VERSION');
    expect(received(status.RESOURCE_EXHAUSTED, 'memory limit exceeded').code).toBe('OVERLOADED');
    expect(received(status.RESOURCE_EXHAUSTED, 'Received message larger than max').code).toBe(
      'INVALID_ARGUMENT',
    );
  });

  it('is refused only when the machine said so', () => {
    const refused = 'No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1';
    expect(received(status.UNAVAILABLE, refused).details).toEqual({ refused: true });
    expect(received(status.UNAVAILABLE, 'Connection dropped').details).toEqual({ refused: false });
    expect(received(status.UNAVAILABLE, 'read ECONNRESET').details).toEqual({ refused: false });
  });

  it('says what the connection said, without the parts that gRPC left empty', () => {
    const details =
      'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ';
    expect(received(status.UNAVAILABLE, details).message).toBe(
      '/x.Y/Z to h:1: No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1',
    );
  });

  it('names the setting behind a host that does not resolve', () => {
    const error = received(
      status.UNAVAILABLE,
      'Name resolution failed for target dns:nowhere:9292',
    );
    expect(error.code).toBe('UNRESOLVABLE_ADDRESS');
    expect(error.hint).toContain('advertised.listeners');
  });
});
