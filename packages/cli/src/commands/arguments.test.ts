import { brokerIds, parseConfigs, throttleBytesPerSecond, wholeNumber } from './arguments';

describe('what is typed after a flag', () => {
  test('settings: each once', () => {
    expect(parseConfigs(['flush=sync', 'retention.ms=a=b'])).toEqual({ flush: 'sync', 'retention.ms': 'a=b' }); // prettier-ignore
    expect(() => parseConfigs(['flush=sync', 'flush=async'])).toThrow('--config flush is given twice');
    expect(() => parseConfigs(['toString=1', '=2'])).toThrow('--config =2 has not the form name=value');
  }); // prettier-ignore

  test('brokers: at least one', () => {
    expect(brokerIds('1, 2,3', '--replicas')).toEqual([1, 2, 3]);
    expect(() => brokerIds('', '--replicas')).toThrow('--replicas names no broker; its form is 1,2,3');
    expect(() => brokerIds('1,', '--replicas')).toThrow('--replicas an empty text is not a whole number');
    expect(() => wholeNumber('-1', 'ID')).toThrow('ID -1 is not a whole number from 0 to 999999999');
  }); // prettier-ignore

  test('a throttle: what brokers take, or 0 for their default', () => {
    expect(['0', '1024', '20000000'].map(throttleBytesPerSecond)).toEqual([0, 1024, 20_000_000]);
    for (const text of ['', ' ', '1', '1023', '-5', '1e6', '0x400', '20MB', '9999999999999999']) {
      expect(() => throttleBytesPerSecond(text)).toThrow('is not a count of bytes a second from 1024 to 1099511627776');
    }
  }); // prettier-ignore
});
