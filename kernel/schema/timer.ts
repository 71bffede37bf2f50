import { type IntegerOptions, Type } from "@sinclair/typebox";
import { LONGEST_TIMER_MS } from "../timing/deadline.ts";

/** A duration in milliseconds that a timer waits for, of the configuration or a request: from 1 to 23 days. */
export const timerMs = (options: IntegerOptions) =>
  Type.Integer({ minimum: 1, maximum: LONGEST_TIMER_MS, ...options });
