/**
 * The standard services that every listener has beside its handlers: grpc.health.v1.Health and server reflection,
 * so that grpcurl, load balancers and orchestrators can talk to a broker. Invariant: reflection is loaded only when
 * somebody asks, since reading proto/ again takes a noticeable time at start. Called by GrpcListener.
 */
import type { Server, ServerDuplexStream } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation, type ServingStatusMap } from 'grpc-health-check';
import { loadDefinitions } from '../proto-definitions';

export interface HealthSwitch {
  stopServing(): void;
}

/** @param services full names, as `tributary.v1.Broker`; the empty name (the whole server) is added. */
export function addHealth(server: Server, services: readonly string[]): HealthSwitch {
  const names = ['', ...services];
  const serving: ServingStatusMap = Object.fromEntries(names.map((name) => [name, 'SERVING']));
  const health = new HealthImplementation(serving);
  health.addToServer(server);
  return {
    stopServing: () => names.forEach((name) => health.setStatus(name, 'NOT_SERVING')),
  };
}

type AnyStream = ServerDuplexStream<unknown, unknown>;
type Implementation = Record<string, (stream: AnyStream) => void>;
type AddService = Server['addService'];

/** The part of a server that the reflection package uses. */
interface ServiceCatcher {
  addService(...service: Parameters<AddService>): void;
}

/** @param services full names of those that the listener serves. */
export function addReflection(server: Server, services: readonly string[]): void {
  let implementations: Map<string, Implementation> | undefined;
  const load = (): Map<string, Implementation> => {
    const caught = new Map<string, Implementation>();
    addRealReflection(services, {
      addService: (definition, implementation) => {
        const path = Object.values(definition)[0]?.path ?? '';
        caught.set(path, implementation as Implementation);
      },
    });
    return caught;
  };
  addRealReflection([], {
    addService: (definition) => {
      const path = Object.values(definition)[0]?.path ?? '';
      server.addService(definition, {
        ServerReflectionInfo: (stream: AnyStream) => {
          implementations ??= load();
          implementations.get(path)?.ServerReflectionInfo?.(stream);
        },
      });
    },
  });
}

function addRealReflection(services: readonly string[], server: ServiceCatcher): void {
  const definitions = services.length > 0 ? loadDefinitions({ keepCase: true }) : {};
  const reflection = new ReflectionService(definitions, { services: [...services] });
  reflection.addToServer(server);
}
