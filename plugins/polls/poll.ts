/** The stored form of a poll, and its form in responses. */
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
  /** The interval, if the definition has one instead of a schedule. */
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
  /** Tools of the poll's turns in addition to those of every poll. */
  tools?: readonly string[];
  /** The principal that created the poll. Polls of the configuration and of older versions have none. */
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
  /** An extract of the cursor for listings. */
  cursor?: { items?: number; etag?: string; lastModified?: string; hash?: string };
  /** The lease of a running check. `nextAt` is then `until`, and `dueAt` is the original slot. */
  leased?: { until: number; dueAt: number | null; worker?: string };
  /** For a poll of the configuration: its definition as JSON, which reveals changes. */
  configured?: string;
}

/** The position of a poll in its source. It is written in the same transaction as the deliveries. */
export interface Cursor {
  kind: "items" | "text";
  validators?: Validators;
  /** The time of the last unconditional request, in epoch ms. */
  fullAt: number;
  /** The keys of the known items. */
  seen?: string[];
  hash?: string;
  /** The format of the last complete document. If a later one of this format is incomplete, it was cut off. */
  form?: Form;
  /** The last text, for the diff; absent if it is large. */
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
 * Returns the principal on whose behalf a poll acts. It is never the owner, because outsiders write the content. A poll that
 * another principal created acts on behalf of that principal.
 */
export function principalOfPoll({ row, body }: Pick<Poll, "row" | "body">): Principal {
  const { createdBy = "owner" } = body;
  return createdBy === "owner" ? principalNamed("poll", row.name ?? row.id) : createdBy;
}

export const digest = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 20);

/** Returns the identity of a source, to which the cursor belongs. If it changes, the poll sets a new baseline. */
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

/** Returns the address or path of a source, without secrets. */
export const placeOf = ({ url, path }: Source): string =>
  url === undefined ? (path ?? "") : maskAddress(url);

/** Masks secrets in the body of a request. Text that contains JSON is masked as JSON. */
function maskBody(body: Source["body"]): Source["body"] {
  if (typeof body !== "string") return maskNamed(body) as Source["body"];
  try {
    const [json, maskedJson] = [JSON.parse(body), maskNamed(JSON.parse(body))].map((value) =>
      JSON.stringify(value),
    );
    return json === maskedJson ? body : maskedJson;
  } catch {
    return body;
  }
}

/** Masks the secrets of a source. */
export const maskSource = (source: Source): Source => ({
  ...maskedRequest(source),
  body: maskBody(source.body),
});

/** Converts a poll for responses, with secrets masked. */
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

/** The data of a check in the history. */
export interface CheckData {
  pollId: string;
  trigger: "schedule" | "manual";
  /** The HTTP status of the response. */
  httpStatus?: number;
  bytes?: number;
  items?: number;
  count?: number;
  /** The reason for which the check failed, or a hook after it. */
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
