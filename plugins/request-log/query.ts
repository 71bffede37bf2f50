/** The query of `GET /requests`, and which entries fit it. */
import { choiceIn, limitIn, momentIn } from "portico/strings";
import type { Entry } from "./entry.ts";
import { errors } from "./errors.ts";
import { OUTCOMES, type Outcome, outcomeOf, statusOf, viewOf } from "./view.ts";

const DEFAULT_LIMIT = 50;
const TEXTS = ["key", "model", "channel", "principal", "id", "tag", "hook"] as const;

/** Where a page ends: the end of its last request, and its number in its worker. */
export interface Place {
  at: number;
  worker: number;
  number: number;
}

/** Goes to other workers: plain values only. */
export interface RequestsQuery {
  texts: Partial<Record<(typeof TEXTS)[number], string>>;
  /** `429`, or `4xx` for all of them. */
  status: string | undefined;
  outcome: Outcome | undefined;
  since: number | undefined;
  until: number | undefined;
  limit: number;
  before: Place | undefined;
}

/** Throws `invalid_request_error` with `param`. */
export function readQuery(query: URLSearchParams, now: number): RequestsQuery {
  const texts: RequestsQuery["texts"] = {};
  for (const name of TEXTS) {
    const value = query.get(name);
    if (value !== null) texts[name] = value;
  }
  return {
    texts,
    status: readStatus(query.get("status")),
    outcome: choiceIn(query, "outcome", OUTCOMES),
    since: momentIn(query, "since", now),
    until: momentIn(query, "until", now),
    limit: limitIn(query, DEFAULT_LIMIT),
    before: readPlace(query.get("before")),
  };
}

/** As `before` takes it. */
export function placeText({ at, worker, number }: Place): string {
  return `${at}-${worker}-${number}`;
}

/** The newest first: negative where `a` comes before `b`. */
export function comparePlaces(a: Place, b: Place): number {
  return b.at - a.at || b.worker - a.worker || b.number - a.number;
}

/** Whether an entry fits all that is asked for, but for its place. */
export function fits(query: RequestsQuery, entry: Entry): boolean {
  const { texts, status, outcome, since, until } = query;
  if (since !== undefined && entry.endedAt < since) return false;
  if (until !== undefined && entry.endedAt > until) return false;
  if (texts.id !== undefined && !entry.requestId.includes(texts.id)) return false;
  if (status !== undefined && !fitsStatus(status, statusOf(entry))) return false;
  if (outcome !== undefined && outcomeOf(entry) !== outcome) return false;
  return fitsNames(texts, entry);
}

function fitsNames(texts: RequestsQuery["texts"], entry: Entry): boolean {
  const { key, model, channel, principal, tag, hook } = texts;
  if ([key, model, channel, principal, tag, hook].every((text) => text === undefined)) return true;
  const view = viewOf(entry);
  if (key !== undefined && (view.key ?? "") !== key) return false;
  if (principal !== undefined && view.principal !== principal) return false;
  if (tag !== undefined && view.tags?.includes(tag) !== true) return false;
  if (hook !== undefined && !view.hooks.some(({ name }) => name === hook)) return false;
  const models = [view.alias, view.model, ...view.attempts.map((attempt) => attempt.model)];
  if (model !== undefined && !models.includes(model)) return false;
  const channels = [view.channel, ...view.attempts.map((attempt) => attempt.channel)];
  return channel === undefined || channels.includes(channel);
}

function fitsStatus(wanted: string, status: number): boolean {
  return wanted.endsWith("xx") ? String(status)[0] === wanted[0] : String(status) === wanted;
}

function readStatus(text: string | null): string | undefined {
  if (text === null) return undefined;
  if (/^[1-5](\d\d|xx)$/.test(text)) return text;
  throw errors.badStatus({ param: "status" });
}

function readPlace(text: string | null): Place | undefined {
  if (text === null) return undefined;
  const [, at, worker, number] = /^(\d{1,15})-(\d{1,4})-(\d{1,15})$/.exec(text) ?? [];
  if (at === undefined) throw errors.badPlace({ param: "before" });
  return { at: Number(at), worker: Number(worker), number: Number(number) };
}
