/** Schedules, payloads, and the service that knows their dates. Types only. */
import type { Principal, Static } from "portico";
import type { NewItem } from "portico/store";
import type { DueLoop, DueLoopOptions } from "./due-loop.ts";
import type { deliverySchema } from "./schema.ts";

declare module "portico" {
  interface Services {
    schedule: ScheduleService;
  }
}

/** `tz` is an IANA zone; default `cron.timezone`. `at` is ISO 8601; without an offset it is local time in `tz`. */
export type ScheduleSpec =
  | { kind: "cron"; expr: string; tz?: string }
  | { kind: "every"; everyMs: number }
  | { kind: "at"; at: string; tz?: string };

/** As it may be given: also as a text, and `at` as epoch milliseconds. */
export type GivenSchedule =
  | ScheduleSpec
  | { kind: "at"; at: string | number; tz?: string }
  | string;

/** What a job or a poll does. Texts of polls are templates. */
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

/** One concrete delivery of a payload: durable items for the same transaction as the slot, or an event to emit after it. */
export interface PayloadOrder {
  payload: PayloadSpec;
  /** `cron`, `poll`. */
  source: string;
  /** On whose behalf it is delivered. */
  principal: Principal;
  /** `[A-Za-z0-9_-]+`, unique to this delivery: the same key twice makes one item. */
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

/** Loaded at first use: a start without jobs pays nothing for dates. */
export interface ScheduleService {
  load(): Promise<ScheduleTools>;
}

export interface ScheduleTools {
  /** Checks a value from outside as a schedule, then `parse`. */
  readSchedule(value: unknown, now: number, param: string): ScheduleSpec;
  /** Checks a value from outside as a payload. */
  readPayload(value: unknown, param: string): PayloadSpec;
  /** Brings a schedule (also `"0 9 * * *"`, `"every 5m"`, an ISO date, `"in 20m"`) into its full form. Throws 400 with `param`. */
  parse(schedule: GivenSchedule, now: number, param?: string): ScheduleSpec;
  /** The first date after `afterMs` (epoch ms); `undefined` where none comes. `anchorMs`: what `every` counts from. */
  next(schedule: ScheduleSpec, afterMs: number, anchorMs?: number): number | undefined;
  preview(schedule: ScheduleSpec, afterMs: number, count: number, anchorMs?: number): number[];
  describe(schedule: ScheduleSpec): string;
  /** `90s`, `5m`, `1h30m`, `2d`, or milliseconds. Throws 400 with `param`. */
  parseDuration(value: string | number, param?: string): number;
  formatDuration(ms: number): string;
  deliver(order: PayloadOrder): PayloadDelivery;
  /** Throws 400 where a payload could never be delivered. */
  checkPayload(payload: PayloadSpec): void;
  /** Throws 400 where a payload names a model or a channel that no turn of this principal could ask. */
  checkPayloadModel(payload: PayloadSpec, principal: Principal): Promise<void>;
  /** Emits a hook payload's event and waits for its handlers; rejects where one failed. */
  emitHook(
    event: string,
    context: Record<string, unknown>,
    about: { timeoutMs: number; principal: Principal },
  ): Promise<void>;
  /** Makes an event of a hook payload known before it is first emitted. */
  declareHookEvent(event: string): void;
  /** One timer to the next due time, safe against steps of the clock. */
  loop(options: DueLoopOptions): DueLoop;
}
