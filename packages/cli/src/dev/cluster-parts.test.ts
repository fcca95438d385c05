import { createServer, type Server } from 'node:net';
import { choosePorts } from './cluster-parts';
import { PortReservation } from './port-reservation';

describe('the ports of a cluster', () => {
  let reservation: PortReservation;
  let taken: Server;
  let port: number;

  beforeEach(async () => {
    reservation = await PortReservation.take(1);
    port = reservation.ports[0]!;
    taken = createServer();
    await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve));
  });

  afterEach(async () => {
    await new Promise((resolve) => taken.close(resolve));
    reservation.release();
  });

  it('that somebody else holds are refused, whose readiness would be taken for ours', async () => {
    await expect(choosePorts({ httpPort: port }, 1)).rejects.toMatchObject({
      code: 'ADDRESS_IN_USE',
      message: `HTTP port ${port} on 127.0.0.1 is in use`,
      hint: expect.stringContaining('--http-port'),
    });
    await expect(choosePorts({ port }, 1)).rejects.toMatchObject({ code: 'ADDRESS_IN_USE' });
  });

  it('end at 65535', async () => {
    await expect(choosePorts({ port: 65_535 }, 2)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});
