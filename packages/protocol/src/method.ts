/**
 * What a remote method is: its path and the codecs of its two message types. `methods.ts` lists them all;
 * every Transport is driven by these descriptions alone.
 */
export interface Codec<Input, Output> {
  /** As in proto/, without the package. */
  readonly messageName: string;
  encode(message: Input): Buffer;
  /** Throws TributaryError INVALID_ARGUMENT for bytes that are not such a message. Byte fields are views. */
  decode(bytes: Buffer): Output;
}

interface Method<UpInput, Up, DownInput, Down> {
  /** `/tributary.v1.Broker/Produce` */
  readonly path: string;
  readonly up: Codec<UpInput, Up>;
  readonly down: Codec<DownInput, Down>;
}

export interface UnaryMethod<UpInput, Up, DownInput, Down> extends Method<
  UpInput,
  Up,
  DownInput,
  Down
> {
  readonly kind: 'unary';
}

export interface BidiMethod<UpInput, Up, DownInput, Down> extends Method<
  UpInput,
  Up,
  DownInput,
  Down
> {
  readonly kind: 'bidi';
}
