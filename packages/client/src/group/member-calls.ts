/**
 * The calls of one membership: each has an id and a deadline, at most MAX_CALLS_IN_FLIGHT are with the broker,
 * and those without an answer are sent again, in order, on the next stream. All of them may be repeated: the
 * store's fences make a second one harmless. Called by the remote membership.
 */
import { TributaryError, type Clock, type Timer } from '@tributary/common';
import {
  fromWireError,
  type MemberCallInput,
  type MemberResult,
  type WireError,
} from '@tributary/protocol';

/** Below what a broker allows on one stream. */
export const MAX_CALLS_IN_FLIGHT = 32;
export const MAX_CALLS_WAITING = 10_000;

export type CallBody = Omit<MemberCallInput, 'callId'>;

interface Call {
  readonly body: CallBody;
  readonly timer: Timer;
  readonly resolve: (result: MemberResult) => void;
  readonly reject: (error: TributaryError) => void;
  sent: boolean;
}

export class MemberCalls {
  /** In the order in which they were made. */
  private readonly calls = new Map<number, Call>();
  private nextId = 1;
  private inFlight = 0;
  private send: ((call: MemberCallInput) => void) | undefined;
  private closedBy: TributaryError | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly timeoutMs: number,
  ) {}

  add(body: CallBody): Promise<MemberResult> {
    if (this.closedBy) return Promise.reject(this.closedBy);
    if (this.calls.size >= MAX_CALLS_WAITING) {
      return Promise.reject(
        new TributaryError('OVERLOADED', `${this.calls.size} group calls wait for an answer`),
      );
    }
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      const timer = this.clock.setTimer(this.timeoutMs, () => {
        const what = `group call ${body.call ?? ''} was not answered in ${this.timeoutMs} ms`;
        this.take(id)?.reject(new TributaryError('TIMEOUT', what, { outcome: 'maybe written' }));
      });
      this.calls.set(id, { body, timer, resolve, reject, sent: false });
      this.flush();
    });
  }

  onResult(result: MemberResult): void {
    const call = this.take(result.callId);
    if (!call) return; // its deadline passed
    if (result.error) call.reject(refusal(result.error, result.owner));
    else call.resolve(result);
  }

  attach(send: (call: MemberCallInput) => void): void {
    this.send = send;
    this.flush();
  }

  detach(): void {
    this.send = undefined;
    this.inFlight = 0;
    for (const call of this.calls.values()) call.sent = false;
  }

  close(error: TributaryError): void {
    this.closedBy = error;
    this.send = undefined;
    for (const id of [...this.calls.keys()]) this.take(id)?.reject(error);
  }

  private take(id: number): Call | undefined {
    const call = this.calls.get(id);
    if (!call) return undefined;
    this.calls.delete(id);
    call.timer.cancel();
    if (call.sent) this.inFlight -= 1;
    this.flush();
    return call;
  }

  private flush(): void {
    if (!this.send) return;
    for (const [callId, call] of this.calls) {
      if (this.inFlight >= MAX_CALLS_IN_FLIGHT) return;
      if (call.sent) continue;
      call.sent = true;
      this.inFlight += 1;
      this.send({ ...call.body, callId });
    }
  }
}

/** With the owner that the broker named: details do not travel in an Error. */
function refusal(wire: WireError, owner: string): TributaryError {
  const error = fromWireError(wire);
  if (owner === '') return error;
  return new TributaryError(error.code, error.message, { hint: error.hint, details: { owner } });
}
