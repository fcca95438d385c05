/**
 * A grpc-js server with HTTP/2 windows of our size: without them everything that clients send is capped at the
 * speed of 64 KB windows. grpc-js has no option for it, so this leans on two of its private members; the version is
 * pinned, and a test reads the windows from the other side. Called by GrpcListener.
 */
import { Server, type ChannelOptions } from '@grpc/grpc-js';
import { assert } from '@tributary/common';
import type { Http2Server, ServerHttp2Session, ServerOptions } from 'node:http2';

interface ServerInternals {
  commonServerOptions: ServerOptions;
  createHttp2Server(credentials: unknown): Http2Server;
}

export function tunedServer(options: ChannelOptions, windowBytes: number): Server {
  const server = new Server(options);
  const internals = server as unknown as ServerInternals;
  const known =
    typeof internals.commonServerOptions === 'object' &&
    typeof internals.createHttp2Server === 'function';
  assert(known, 'this version of grpc-js is built differently: its windows cannot be set');
  const { commonServerOptions } = internals;
  commonServerOptions.settings = {
    ...commonServerOptions.settings,
    initialWindowSize: windowBytes,
  };
  const createHttp2Server = internals.createHttp2Server.bind(server);
  internals.createHttp2Server = (credentials) => {
    const http2Server = createHttp2Server(credentials);
    http2Server.on('session', (session: ServerHttp2Session) => {
      session.setLocalWindowSize(windowBytes);
    });
    return http2Server;
  };
  return server;
}
