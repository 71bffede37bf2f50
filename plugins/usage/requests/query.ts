/** The query of `GET /usage/requests`. */
import { limitIn } from "portico/strings";
import { errors } from "../errors.ts";
import { type Range, readRange } from "../range.ts";

const DEFAULT_LIMIT = 50;

/** The end of a page: the time and the number of its last request. */
export interface Place {
  at: number;
  number: number;
}
export interface RequestsQuery extends Range {
  /** A status such as `429`, or a class such as `4xx`. */
  status: string | undefined;
  limit: number;
  before: Place | undefined;
}

/** Reads the query. Throws `invalid_request_error` with `param`. */
export function readRequestsQuery(query: URLSearchParams, now: number): RequestsQuery {
  for (const name of ["alias", "principal"])
    if (query.has(name)) throw errors.filterNotKept({ name }, { param: name });
  return {
    ...readRange(query, now),
    status: readStatus(query.get("status")),
    limit: limitIn(query, DEFAULT_LIMIT),
    before: readPlace(query.get("before")),
  };
}

/** Formats a place for the parameter `before`. */
export function placeText({ at, number }: Place): string {
  return `${at}-${number}`;
}

function readStatus(text: string | null): string | undefined {
  if (text === null) return undefined;
  if (!/^[1-5](\d\d|xx)$/.test(text)) throw errors.badStatus({ param: "status" });
  return text;
}

function readPlace(text: string | null): Place | undefined {
  if (text === null) return undefined;
  const [, at, number] = /^(\d{1,15})-(\d{1,15})$/.exec(text) ?? [];
  if (at === undefined) throw errors.badPlace({ param: "before" });
  return { at: Number(at), number: Number(number) };
}
