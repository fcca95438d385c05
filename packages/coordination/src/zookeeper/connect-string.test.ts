import { parseConnectString } from './connect-string';

test.each([
  ['a:1', 'a:1', '/'],
  ['a', 'a:2181', '/'],
  ['a:1,b:2, c', 'a:1,b:2,c:2181', '/'],
  ['a:1/', 'a:1', '/'],
  ['a:1,b:2/kafka/one', 'a:1,b:2', '/kafka/one'],
  ['a:1/kafka/', 'a:1', '/kafka'],
])('%s', (text, servers, chroot) => {
  expect(parseConnectString(text)).toMatchObject({ servers, chroot });
});

test.each([
  ['', 'a host is empty'],
  ['a:1,,b:2', 'a host is empty'],
  ['[::1]:2181', 'IPv6'],
  ['::1', 'IPv6'],
  ['a:0', 'not host:port'],
  ['a:70000', 'not host:port'],
  ['a:x', 'not host:port'],
  ['a:1//b', 'not a path'],
])('%s is refused', (text, why) => {
  expect(() => parseConnectString(text)).toThrow(why);
});
