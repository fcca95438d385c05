import { checkClientOptions, parseAddress } from './client-config';
import { createClient } from './client';

function problemsOf(options: object): string {
  try {
    checkClientOptions(options);
  } catch (thrown) {
    const { code, message } = thrown as { code: string; message: string };
    expect(code).toBe('INVALID_CONFIG');
    return message;
  }
  return 'none';
}

describe('the configuration of a client', () => {
  test('defaults', () => {
    expect(checkClientOptions({ brokers: ['localhost:9292'] })).toEqual({
      clientId: 'tributary-client',
      bootstrap: [{ host: 'localhost', port: 9292 }],
      zookeeper: undefined,
      listener: undefined,
      requestTimeoutMs: 10_000,
      sessionTimeoutMs: 10_000,
      waitForTopic: false,
    });
  });

  test('exactly one of brokers and zookeeper', () => {
    expect(problemsOf({})).toContain('one of brokers and zookeeper is needed');
    expect(problemsOf({ brokers: ['a:1'], zookeeper: 'b:2' })).toContain('exclude each other');
    expect(problemsOf({ zookeeper: 'a:1,b,c:3/some/root' })).toBe('none');
    expect(problemsOf({ zookeeper: 'a:1/' })).toBe('none');
  });

  test('every problem is listed at once', () => {
    const problems = problemsOf({
      brokers: ['localhost', 'x:99999', 5],
      clientId: '',
      requestTimeoutMs: 0,
      listner: 'outside',
    });
    expect(problems).toMatch(/listner is not a setting.*"localhost" has not.*"x:99999" has not.*5 has not.*clientId is not.*requestTimeoutMs=0/s); // prettier-ignore
  });

  test.each([
    ['a:x', '"a:x"'],
    ['a:1,,b:2', '""'],
    ['[::1]:2181', '"[::1]:2181"'],
    ['a:1//b', '"//b"'],
  ])('zookeeper: %j', (zookeeper, named) => {
    expect(problemsOf({ zookeeper })).toContain(named);
  });

  test('is checked when the client is made, and nothing is dialled', () => {
    expect(() => createClient({ brokers: [] })).toThrow(/not a list/);
    createClient({ brokers: ['nowhere.invalid:1'] });
    createClient({ zookeeper: 'nowhere.invalid:1' });
  });
});

test.each([
  ['localhost:9292', { host: 'localhost', port: 9292 }],
  ['[::1]:9292', { host: '::1', port: 9292 }],
  ['10.0.0.1:1', { host: '10.0.0.1', port: 1 }],
  ['a:0', undefined],
  ['::1:9292', undefined],
  ['http://a:1', undefined],
  ['a', undefined],
])('address %j', (text, address) => {
  expect(parseAddress(text)).toEqual(address);
});
