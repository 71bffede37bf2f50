/** The query of `GET /audit`, and the selection of its entries. */
import { choiceIn, limitIn, momentIn } from "portico/strings";
import type { AuditEntry, Outcome } from "./entry.ts";
import { type Place, formatPlace, parsePlace } from "./place.ts";
import { OUTCOMES } from "./schema.ts";
import type { Trail } from "./trail.ts";

const DEFAULT_LIMIT = 50;
const INTERFACES = ["console", "command line", "http", "file", "gateway"] as const;

export interface AuditQuery {
  principal: string | null;
  via: (typeof INTERFACES)[number] | undefined;
  address: string | null;
  /** In lower case. */
  action: string | undefined;
  outcome: Outcome | undefined;
  since: number | undefined;
  until: number | undefined;
  limit: number;
  before: Place | undefined;
}

export interface AuditPage {
  /** Newest first. */
  entries: AuditEntry[];
  /** The `before` of the next page; absent on the last page. */
  next?: string | undefined;
}

/** Parses the query. Throws `invalid_request_error` with `param` if a value is invalid. */
export function parseQuery(query: URLSearchParams, now: number): AuditQuery {
  return {
    principal: query.get("principal"),
    via: choiceIn(query, "via", INTERFACES),
    address: query.get("address"),
    action: query.get("action")?.toLowerCase(),
    outcome: choiceIn(query, "outcome", OUTCOMES),
    since: momentIn(query, "since", now),
    until: momentIn(query, "until", now),
    limit: limitIn(query, DEFAULT_LIMIT),
    before: parsePlace(query.get("before")),
  };
}

export async function readPage(trail: Trail, query: AuditQuery): Promise<AuditPage> {
  const entries: AuditEntry[] = [];
  for await (const entry of trail.newest(query.before)) {
    const at = Date.parse(entry.at);
    if (query.since !== undefined && at < query.since) break;
    if (!matchesQuery(query, entry, at)) continue;
    // This entry exceeds the page, so another page follows.
    if (entries.length === query.limit) return { entries, next: placeOf(entries.at(-1)!) };
    entries.push(entry);
  }
  return { entries };
}

function matchesQuery(query: AuditQuery, entry: AuditEntry, at: number): boolean {
  const { principal, via, address, action, outcome, until } = query;
  if (until !== undefined && at > until) return false;
  if (principal !== null && entry.principal !== principal) return false;
  if (via !== undefined && entry.via !== via) return false;
  if (address !== null && entry.address !== address) return false;
  if (outcome !== undefined && entry.outcome !== outcome) return false;
  if (action === undefined) return true;
  const keys = entry.changes.map(({ key }) => key);
  return [entry.action, entry.entry ?? "", ...keys].join("\n").toLowerCase().includes(action);
}

function placeOf({ at, id }: AuditEntry): string {
  return formatPlace({ at: Date.parse(at), id });
}
