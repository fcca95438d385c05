import { createServer, type AddressInfo } from 'node:net';
import { canListen, isAlive, PortReservation } from './port-reservation';

test('ports differ, are free, and are not given twice while they are held', async () => {
  const first = await PortReservation.take(20);
  const second = await PortReservation.take(20);
  try {
    expect(new Set([...first.ports, ...second.ports]).size).toBe(40);
    for (const port of first.ports) {
      expect(port).toBeGreaterThanOrEqual(20_000);
      expect(port).toBeLessThan(32_000); // below what systems hand out by themselves
    }
  } finally {
    first.release();
    second.release();
  }
});

test('a port that somebody listens on is not free', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await canListen(port)).toBe(false);
  await new Promise((resolve) => server.close(resolve));
  expect(await canListen(port)).toBe(true);
});

test('this process lives; one that cannot exist does not', () => {
  expect(isAlive(process.pid)).toBe(true);
  expect(isAlive(2 ** 30)).toBe(false);
});
