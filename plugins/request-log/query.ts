/** The query of `GET /requests`: reads it, and matches entries against it. */
import { choiceIn, limitIn, momentIn } from "portico/strings";
import type { Entry } from "./entry.ts";
import { errors } from "./errors.ts";
import { OUTCOMES, type Outcome, outcomeOf, statusOf, viewOf } from "./view.ts";

const DEFAULT_LIMIT = 50;
const TEXTS = ["key", "model", "channel", "principal", "id", "tag", "hook"] as const;

/** The end of a page: the end time of its last request, its worker, and its number there. */
export interface Place {
  at: number;
  worker: number;
  number: number;
}

/** The query. It is sent to other workers, so it holds plain values only. */
export interface RequestsQuery {
  texts: Partial<Record<(typeof TEXTS)[number], string>>;
  /** A status such as `429`, or a class such as `4xx`. */
  status: string | undefined;
  outcome: Outcome | undefined;
  since: number | undefined;
  until: number | undefined;
  limit: number;
  before: Place | undefined;
}

/** Reads the query. Throws `invalid_request_error` with `param`. */
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

/** Formats a place for the parameter `before`. */
export function placeText({ at, worker, number }: Place): string {
  return `${at}-${worker}-${number}`;
}

/** Sorts the newest first: returns a negative number if `a` comes before `b`. */
export function comparePlaces(a: Place, b: Place): number {
  return b.at - a.at || b.worker - a.worker || b.number - a.number;
}

/** Returns true if an entry matches all filters. It does not compare its place with `before`. */
export function matches(query: RequestsQuery, entry: Entry): boolean {
  const { texts, status, outcome, since, until } = query;
  if (since !== undefined && entry.endedAt < since) return false;
  if (until !== undefined && entry.endedAt > until) return false;
  if (texts.id !== undefined && !entry.requestId.includes(texts.id)) return false;
  if (status !== undefined && !matchesStatus(statusOf(entry), status)) return false;
  if (outcome !== undefined && outcomeOf(entry) !== outcome) return false;
  return matchesNames(texts, entry);
}

function matchesNames(texts: RequestsQuery["texts"], entry: Entry): boolean {
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

function matchesStatus(status: number, filter: string): boolean {
  return filter.endsWith("xx") ? String(status)[0] === filter[0] : String(status) === filter;
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
