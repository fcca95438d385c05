/**
 * What is known of the newest control stream that this broker accepted, be it up or not: whether its controller is there
 * is judged by it. Told by the receiver, judged by `Preemption`.
 */
export interface ControllerStream {
  readonly controllerEpoch: number;
  readonly isUp: boolean;
  /** ms, of the clock. */
  readonly lastHeardAt: number;
}
