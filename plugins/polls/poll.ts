/** What a poll is in the store, and how it is shown. */
import { createHash } from "node:crypto";
import { maskAddress, type PluginContext, type Principal, principalNamed } from "portico";
import { viewPayload } from "portico/deliveries";
import { maskNamed } from "portico/strings";
import { isoDate, maskedRequest, type PayloadSpec, type ScheduleSpec } from "portico/schedules";
import type { Run, Schedule } from "portico/store";
import type { Source } from "./schema.ts";
import type { Form, Validators } from "./sources/source.ts";

export const KIND = "poll";

export interface PollBody {
  description?: string;
  /** As it was given, where the schedule was given as an interval. */
  every?: string;
  schedule: ScheduleSpec;
  source: Source;
  payload: PayloadSpec;
  fireOnFirst: boolean;
  maxItems?: number;
  timeoutMs?: number;
  maxBytes?: number;
  allowPrivateNetwork?: boolean;
  origin: "api" | "config" | "agent";
  /** Tools that its turns have beside those of every poll. */
  tools?: readonly string[];
  /** Who made it. Polls of the configuration and of older versions have none. */
  createdBy?: Principal;
  anchorMs: number;
}

export type CheckStatus = "baseline" | "unchanged" | "changed" | "error";

export interface PollState {
  lastCheckAt?: number;
  lastChangeAt?: number;
  lastStatus?: CheckStatus;
  lastError?: string;
  lastDurationMs?: number;
  consecutiveErrors: number;
  checks: number;
  changes: number;
  /** The cursor in small, for listings. */
  cursor?: { items?: number; etag?: string; lastModified?: string; hash?: string };
  /** While a check is going on: `nextAt` is the end of its lease, and this is when it was due. */
  leased?: { until: number; dueAt: number | null; worker?: string };
  /** For a poll of the configuration: its definition as it was read, to see a change. */
  configured?: string;
}

/** Where a poll stands; written together with what it fires. */
export interface Cursor {
  kind: "items" | "text";
  validators?: Validators;
  /** When the source was last read without a condition. */
  fullAt: number;
  /** Keys of the items that were seen. */
  seen?: string[];
  hash?: string;
  /** The document's form, where it was there to its end: one that does not end so is cut off. */
  form?: Form;
  /** The text before, for the difference; left out where it is large. */
  text?: string;
}

export interface Poll {
  row: Schedule;
  body: PollBody;
  state: PollState;
}

export function toPoll(row: Schedule): Poll {
  const state = (row.state ?? {}) as Partial<PollState>;
  return {
    row,
    body: row.body as PollBody,
    state: { consecutiveErrors: 0, checks: 0, changes: 0, ...state },
  };
}

/**
 * Whom what it finds is done for: never the owner, since strangers write it. A poll that another principal made acts for
 * that one.
 */
export function principalOfPoll({ row, body }: Pick<Poll, "row" | "body">): Principal {
  const { createdBy = "owner" } = body;
  return createdBy === "owner" ? principalNamed("poll", row.name ?? row.id) : createdBy;
}

export const digest = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 20);

/** What the cursor belongs to: where this changes, the poll starts again with a baseline. */
export function identityOf(source: Source): string {
  const { kind, url, path, items, key, selector, ignore, remove, match, method, body, browser } =
    source;
  return JSON.stringify([
    kind,
    url,
    path,
    items,
    key,
    selector,
    ignore,
    remove,
    match,
    method,
    body,
    browser || undefined,
  ]);
}

/** The address of a source, in a form without secrets. */
export const placeOf = ({ url, path }: Source): string =>
  url === undefined ? (path ?? "") : maskAddress(url);

/** Text that is JSON is masked as what it means. */
function maskedBody(body: Source["body"]): Source["body"] {
  if (typeof body !== "string") return maskNamed(body) as Source["body"];
  try {
    const [plain, shown] = [JSON.parse(body), maskNamed(JSON.parse(body))].map((value) =>
      JSON.stringify(value),
    );
    return plain === shown ? body : shown;
  } catch {
    return body;
  }
}

/** A source as it may be shown. */
export const maskSource = (source: Source): Source => ({
  ...maskedRequest(source),
  body: maskedBody(source.body),
});

/** A poll as its routes send it, secrets masked. */
export function viewPoll(
  ctx: Pick<PluginContext, "find">,
  { row, body, state }: Poll,
): Record<string, unknown> {
  const { anchorMs: _, every, schedule, source, ...definition } = body;
  const nextAt =
    state.leased !== undefined && state.leased.until === row.nextAt
      ? state.leased.dueAt
      : row.nextAt;
  return {
    id: row.id,
    name: row.name ?? row.id,
    status: row.enabled ? "enabled" : "disabled",
    every,
    schedule: every === undefined ? schedule : undefined,
    source: maskSource(source),
    ...definition,
    principal: principalOfPoll({ row, body }),
    payload: viewPayload(ctx, definition.payload),
    createdAt: isoDate(row.createdAt),
    updatedAt: isoDate(row.updatedAt),
    state: {
      cursor: state.cursor ?? null,
      lastCheckAt: isoDate(state.lastCheckAt),
      lastStatus: state.lastStatus ?? null,
      lastChangeAt: isoDate(state.lastChangeAt),
      lastError: state.lastError ?? null,
      lastDurationMs: state.lastDurationMs ?? null,
      consecutiveErrors: state.consecutiveErrors,
      nextCheckAt: row.enabled ? isoDate(nextAt) : null,
      checks: state.checks,
      changes: state.changes,
    },
  };
}

/** What the history keeps about a check. */
export interface CheckData {
  pollId: string;
  trigger: "schedule" | "manual";
  /** The HTTP status. */
  httpStatus?: number;
  bytes?: number;
  items?: number;
  count?: number;
  /** Why it failed; of a check that found something, why a hook did. */
  error?: string;
  eventIds?: string[];
  turnIds?: string[];
}

export function viewCheck(run: Run, { body: { schedule } }: Poll): Record<string, unknown> {
  return {
    id: run.id,
    status: run.status,
    startedAt: isoDate(run.at),
    endedAt: isoDate(run.endedAt),
    durationMs: run.endedAt === undefined ? null : run.endedAt - run.at,
    timezone: schedule.kind === "every" ? undefined : schedule.tz,
    ...(run.data as CheckData),
  };
}
