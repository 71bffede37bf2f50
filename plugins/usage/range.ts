/** Reads time ranges, filters and groups from queries. */
import type { UsageFilter } from "portico/store";
import { errors } from "./errors.ts";

const DAY_MS = 86_400_000;
const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: DAY_MS, w: 7 * DAY_MS };
const DEFAULT_RANGE = "30d";

/** The filters of single requests. */
const REQUEST_FILTERS = ["channel", "model", "key", "tag"] as const;
const FILTERS = [...REQUEST_FILTERS, "alias", "principal"] as const;
type Filter = (typeof FILTERS)[number];
const GROUPS = ["model", "channel", "key", "alias", "principal", "tag", "day", "hour"] as const;
export type Group = (typeof GROUPS)[number];

export interface Range {
  from: number;
  /** Inclusive. */
  to: number;
  filter: Pick<UsageFilter, Filter>;
}
export interface UsageQuery extends Range {
  by: Group[];
}

/** Reads the query of `GET /usage`. Throws `invalid_request_error` with `param`. */
export function readQuery(query: URLSearchParams, now: number): UsageQuery {
  return { ...readRange(query, now, FILTERS), by: readGroups(query.getAll("by").join(",")) };
}

/** Reads the members that both routes share. Throws like `readQuery`. */
export function readRange(
  query: URLSearchParams,
  now: number,
  filters: readonly Filter[] = REQUEST_FILTERS,
): Range {
  const since = query.get("since");
  if (since !== null && query.has("from")) throw errors.twoStarts({ param: "since" });
  const from = readTime(
    query.get("from") ?? since ?? DEFAULT_RANGE,
    now,
    query.has("from") ? "from" : "since",
    false,
  );
  const to = query.has("to") ? readTime(query.get("to")!, now, "to", true) : now;
  if (from > to) throw errors.startAfterEnd({ param: "from" });
  const filter: Range["filter"] = {};
  for (const name of filters) {
    const value = query.get(name);
    if (value !== null) filter[name] = value;
  }
  return { from, to, filter };
}

function readGroups(text: string): Group[] {
  const names = text.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]));
  for (const name of names) {
    if (!(GROUPS as readonly string[]).includes(name))
      throw errors.unknownGroup(
        { name: name.slice(0, 40), groups: GROUPS.join(", ") },
        { param: "by" },
      );
  }
  if (names.includes("day") && names.includes("hour")) throw errors.dayAndHour({ param: "by" });
  return [...new Set(names as Group[])];
}

/**
 * Reads a date or time in ISO form (UTC), milliseconds since the epoch, or an age such as `90m`, `24h` or `7d`. If `isEnd`, a
 * date stands for its last millisecond.
 */
function readTime(text: string, now: number, param: string, isEnd: boolean): number {
  const ago = /^(\d+)([mhdw])$/.exec(text);
  if (ago) return Math.max(0, now - Number(ago[1]) * UNITS[ago[2]!]!);
  if (/^\d{10,15}$/.test(text)) return Number(text);
  const time = Date.parse(text);
  if (Number.isNaN(time) || !/^\d{4}-\d{2}-\d{2}/.test(text))
    throw errors.badTime({ param }, { param });
  return isEnd && text.length === 10 ? time + DAY_MS - 1 : time;
}
