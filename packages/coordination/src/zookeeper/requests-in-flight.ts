/**
 * Every request settles exactly once, also those that the client library forgets (a reply out of order, an expiry
 * before they were sent). Used by ClientSession.
 */
import { outward } from './library-replies';

export type Done<T> = (error: unknown, value?: T) => void;

export class RequestsInFlight {
  private readonly rejections = new Set<(reason: Error) => void>();

  start<T>(path: string, send: (done: Done<T>) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.rejections.add(reject);
      const done: Done<T> = (error, value) => {
        this.rejections.delete(reject);
        if (error) reject(outward(error, path));
        else resolve(value as T);
      };
      try {
        send(done);
      } catch (error) {
        done(error); // the library throws on arguments that it does not like
      }
    });
  }

  failAll(reason: Error): void {
    for (const reject of this.rejections) reject(reason);
    this.rejections.clear();
  }
}
