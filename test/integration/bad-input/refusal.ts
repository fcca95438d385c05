/** What every refusal has, whatever was wrong: a code of the list, one line that says what and why, a hint. */
import { isErrorCode, TributaryError, type ErrorCode } from '@tributary/common';

/** A TributaryError, or the wire's Error inside an answer. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** @param says what must be named in the message. */
export function expectRefusal(
  refusal: Refusal | null | undefined,
  code: ErrorCode,
  says: RegExp = /./,
): void {
  expect(refusal).toMatchObject({ code });
  const { message, hint } = refusal as Refusal;
  expect(isErrorCode(refusal!.code)).toBe(true);
  expect(message).toMatch(says);
  for (const text of [message, hint]) {
    expect(text).toMatch(/^\P{Cc}+$/u);
    expect(text.length).toBeLessThan(600);
  }
}

/** The same of a call that must fail. */
export async function expectRefused(
  call: Promise<unknown>,
  code: ErrorCode,
  says?: RegExp,
): Promise<void> {
  const end: unknown = await call.then(
    (answer) => new Error(`it was not refused, but answered ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown,
  );
  if (!(end instanceof TributaryError)) throw end;
  expectRefusal(end, code, says);
}
