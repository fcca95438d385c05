/**
 * One Member stream to one broker: Hello, Join, then messages both ways. Invariant: `open` either gives a joined
 * stream or rejects and leaves nothing behind; `onClose` is called once, only after `open` resolved.
 * Called by the remote membership, which opens another one when it breaks.
 */
import type { Deadline } from '@tributary/common';
import { TributaryError } from '@tributary/common';
import {
  checkServerHello,
  clientHello,
  fromWireError,
  methods,
  type Connection,
  type JoinInput,
  type Joined,
  type MemberDown,
  type MemberUpInput,
  type MessageStream,
} from '@tributary/protocol';

export interface MemberStreamHandlers {
  onMessage(message: MemberDown): void;
  onClose(error: TributaryError): void;
}

export interface MemberStreamTarget {
  readonly connection: Connection;
  readonly clientId: string;
  readonly brokerId: number;
}

export class MemberStream {
  private handlers: MemberStreamHandlers | undefined;
  private ended: TributaryError | undefined;
  /** Broker messages before the owner listens: a hint at most. */
  private early: MemberDown[] = [];

  private constructor(private readonly stream: MessageStream<MemberUpInput, MemberDown>) {}

  static async open(
    { connection, clientId, brokerId }: MemberStreamTarget,
    join: JoinInput,
    deadline: Deadline,
  ): Promise<{ stream: MemberStream; joined: Joined }> {
    const stream = connection.open(methods.group.member);
    const member = new MemberStream(stream);
    const answer = new Promise<Joined>((resolve, reject) => {
      const onClose = (error: TributaryError): void => {
        reject(error);
        member.close(error);
      };
      stream.handle({
        onMessage: (message) => {
          try {
            if (message.joined) resolve(message.joined);
            else if (message.hello) checkServerHello(message.hello);
            else if (message.error) onClose(fromWireError(message.error));
            else member.receive(message);
          } catch (thrown) {
            onClose(TributaryError.from(thrown));
          }
        },
        onEnd: () => onClose(ended()),
        onClose: (error) => onClose(error ?? ended()),
      });
    });
    stream.send({ body: 'hello', hello: clientHello({ clientId, brokerId }) });
    stream.send({ body: 'join', join });
    try {
      return { stream: member, joined: await deadline.race(answer, 'joining the group') };
    } catch (thrown) {
      stream.cut();
      throw thrown;
    }
  }

  listen(handlers: MemberStreamHandlers): void {
    this.handlers = handlers;
    for (const message of this.early.splice(0)) handlers.onMessage(message);
    if (this.ended) handlers.onClose(this.ended);
  }

  send(message: MemberUpInput): void {
    this.stream.send(message);
  }

  /** Orderly: what was sent still arrives. */
  end(): void {
    this.handlers = undefined;
    this.stream.end();
  }

  cut(): void {
    this.handlers = undefined;
    this.stream.cut();
  }

  private receive(message: MemberDown): void {
    if (this.handlers) this.handlers.onMessage(message);
    else if (!this.ended && this.early.length < 16) this.early.push(message);
  }

  private close(error: TributaryError): void {
    if (this.ended) return;
    this.ended = error;
    this.stream.cut();
    const { handlers } = this;
    this.handlers = undefined;
    handlers?.onClose(error);
  }
}

function ended(): TributaryError {
  return new TributaryError('UNAVAILABLE', 'the broker ended the member stream');
}
