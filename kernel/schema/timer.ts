import { type IntegerOptions, Type } from "@sinclair/typebox";
import { LONGEST_TIMER_MS } from "../timing/deadline.ts";

/** The schema of a duration for a timer in the configuration or a request, in milliseconds: from 1 ms to 23 days. */
export const timerMs = (options: IntegerOptions) =>
  Type.Integer({ minimum: 1, maximum: LONGEST_TIMER_MS, ...options });
