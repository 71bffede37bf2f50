/** The types of schedules, payloads, and the service `schedule`. */
import type { Principal, Static } from "portico";
import type { NewItem } from "portico/store";
import type { DueLoop, DueLoopOptions } from "./due-loop.ts";
import type { deliverySchema } from "./schema.ts";

declare module "portico" {
  interface Services {
    schedule: ScheduleService;
  }
}

/**
 * A schedule. `tz` is an IANA name; default: `cron.timezone`. `at` is ISO 8601; without an offset it is local time in
 * `tz`.
 */
export type ScheduleSpec =
  | { kind: "cron"; expr: string; tz?: string }
  | { kind: "every"; everyMs: number }
  | { kind: "at"; at: string; tz?: string };

/** A schedule as users write it: also as a text, and `at` also as epoch ms. */
export type GivenSchedule =
  | ScheduleSpec
  | { kind: "at"; at: string | number; tz?: string }
  | string;

/** The action of a job or a poll. The texts of polls are templates. */
export type PayloadSpec =
  | { kind: "systemEvent"; text: string; mode?: "next-heartbeat" | "now" }
  | {
      kind: "agentTurn";
      message: string;
      model?: string;
      channel?: string;
      session?: string;
      agent?: string;
      delivery?: Static<typeof deliverySchema>;
    }
  | { kind: "hook"; event: string; context?: Record<string, unknown> };

/**
 * A request to deliver a payload: as durable items in the transaction that takes the slot, or as an event emitted after
 * it.
 */
export interface PayloadOrder {
  payload: PayloadSpec;
  /** The source of the event or turn: `cron` or `poll`. */
  source: string;
  /** The principal on whose behalf the payload is delivered. */
  principal: Principal;
  /** A key that is unique to this delivery, `[A-Za-z0-9_-]+`. The same key twice creates one item. */
  key: string;
  metadata?: Record<string, unknown>;
  /** Data from outside, fenced in the prompt. */
  untrusted?: readonly { label: string; text: string }[];
  defaultSession?: string;
  timeoutMs?: number;
}

export interface PayloadDelivery {
  items: NewItem[];
  eventId?: string;
  turnId?: string;
  sessionId?: string;
}

/** The service loads its tools at first use, so that a start without jobs does not load them. */
export interface ScheduleService {
  load(): Promise<ScheduleTools>;
}

export interface ScheduleTools {
  /** Validates a value from outside as a schedule, then parses it like `parse`. */
  readSchedule(value: unknown, now: number, param: string): ScheduleSpec;
  /** Validates a value from outside as a payload. */
  readPayload(value: unknown, param: string): PayloadSpec;
  /**
   * Parses a schedule (also `"0 9 * * *"`, `"every 5m"`, an ISO date, `"in 20m"`) into its full form. Throws 400 with
   * `param`.
   */
  parse(schedule: GivenSchedule, now: number, param?: string): ScheduleSpec;
  /**
   * Returns the first date after `afterMs`, in epoch ms; undefined if there is none. `every` counts from `anchorMs`.
   */
  next(schedule: ScheduleSpec, afterMs: number, anchorMs?: number): number | undefined;
  preview(schedule: ScheduleSpec, afterMs: number, count: number, anchorMs?: number): number[];
  describe(schedule: ScheduleSpec): string;
  /** Parses `90s`, `5m`, `1h30m`, `2d`, or milliseconds. Throws 400 with `param`. */
  parseDuration(value: string | number, param?: string): number;
  formatDuration(ms: number): string;
  deliver(order: PayloadOrder): PayloadDelivery;
  /** Throws 400 if a payload could never be delivered. */
  checkPayload(payload: PayloadSpec): void;
  /** Throws 400 if a payload names a model or a channel that no turn of this principal could use. */
  checkPayloadModel(payload: PayloadSpec, principal: Principal): Promise<void>;
  /** Emits a hook payload's event and waits for its handlers. Rejects if a handler fails. */
  emitHook(
    event: string,
    context: Record<string, unknown>,
    about: { timeoutMs: number; principal: Principal },
  ): Promise<void>;
  /** Declares the event of a hook payload before it is first emitted. */
  declareHookEvent(event: string): void;
  /** Starts a loop that wakes at the next due time, and tolerates steps of the clock. */
  loop(options: DueLoopOptions): DueLoop;
}
