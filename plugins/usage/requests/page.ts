/** Reads pages of single requests, newest first, from the blocks of the store. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { RequestBlock, Store } from "portico/store";
import { escapeName, fieldOf, type Line, nameIn, numberIn, readLines } from "./lines.ts";
import { placeText, type RequestsQuery } from "./query.ts";

/** The requests that are searched before other callers get a turn. The first reading covers only one page. */
const BATCH_SIZE = 2000;

/** One request; members whose value is unknown are absent. */
export interface RequestView {
  /** The id in the response header `x-request-id`. */
  requestId: string;
  /** The time at which it ended, in ISO form. */
  at: string;
  channel: string;
  model: string;
  /** Null for the owner. */
  key: string | null;
  /** The HTTP status; 499 if the client disconnected. */
  status: number;
  attempts: number;
  stream: boolean;
  ms: number;
  firstByteMs?: number | undefined;
  promptTokens?: number | undefined;
  completionTokens?: number | undefined;
  /** The prompt tokens that the provider read from its cache. */
  cachedTokens?: number | undefined;
  costUsd?: number | undefined;
  /** True if the tokens, and so the cost, are estimates of the gateway. */
  estimated?: true | undefined;
  tags?: string[] | undefined;
}
export interface RequestPage {
  /** ISO times. */
  from: string;
  to: string;
  requests: RequestView[];
  /** `before` of the next page; absent on the last one. */
  next?: string;
}

/** Reads one page. Rejects if the store cannot be read. */
export async function requestPage(store: Store, query: RequestsQuery): Promise<RequestPage> {
  const { from, to, limit } = query;
  const lines = await newestLines(store, query);
  const last = lines.length > limit ? lines[limit - 1] : undefined;
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    requests: lines.slice(0, limit).map(viewOf),
    next: last && placeText(last),
  };
}

/** Returns the newest lines that match the query, and one more if another page follows. */
async function newestLines(store: Store, query: RequestsQuery): Promise<Line[]> {
  const { from, to, limit } = query;
  const until = Math.min(to, query.before?.at ?? to);
  const matches = filterOf(query);
  const lines: Line[] = [];
  let after: RequestBlock | undefined;
  for (;;) {
    const minRequests = after === undefined ? limit + 1 : BATCH_SIZE;
    const blocks = await store.usage.requests({ since: from, until, after, least: minRequests });
    lines.push(...blocks.flatMap((block) => [...readLines(block)].filter(matches)));
    lines.sort((a, b) => b.at - a.at || b.number - a.number).splice(limit + 1);
    after = blocks.at(-1);
    if (after === undefined || isSettled(lines[limit], after)) return lines;
    await nextTurn();
  }
}

/**
 * Returns true if no unread block can hold a request that is newer than the line. Blocks of several gateways overlap in time,
 * so only a line that is newer than the end of the last block that was read has its final place.
 */
function isSettled(line: Line | undefined, block: RequestBlock): boolean {
  if (line === undefined || line.at !== block.lastAt)
    return line !== undefined && line.at > block.lastAt;
  return line.number > block.number - block.requests;
}

function filterOf({ from, to, before, status, filter }: RequestsQuery): (line: Line) => boolean {
  const names = (["channel", "model", "key"] as const).flatMap((name) =>
    filter[name] === undefined ? [] : [[name, escapeName(filter[name])] as const],
  );
  return (line) => {
    if (line.at < from || line.at > to) return false;
    if (before && (line.at > before.at || (line.at === before.at && line.number >= before.number)))
      return false;
    if (status !== undefined && !matchesStatus(fieldOf(line, "status"), status)) return false;
    if (filter.tag !== undefined && tagsIn(line)?.includes(filter.tag) !== true) return false;
    return names.every(([name, value]) => fieldOf(line, name) === value);
  };
}

/** Compares a status with a status (429) or a class of statuses (4xx). */
function matchesStatus(status: string, filter: string): boolean {
  if (!filter.endsWith("xx")) return status === filter;
  return status.length === filter.length && status.charAt(0) === filter.charAt(0);
}

/** Returns the tags of a line; undefined if there are none. */
function tagsIn(line: Line): string[] | undefined {
  const tags = nameIn(line, "tags");
  return tags === "" ? undefined : tags.split(",");
}

function viewOf(line: Line): RequestView {
  const key = nameIn(line, "key");
  const nanoUsd = numberIn(line, "nanoUsd");
  return {
    requestId: nameIn(line, "requestId"),
    at: new Date(line.at).toISOString(),
    channel: nameIn(line, "channel"),
    model: nameIn(line, "model"),
    key: key === "" ? null : key,
    status: numberIn(line, "status") ?? 0,
    attempts: numberIn(line, "attempts") ?? 0,
    stream: fieldOf(line, "stream") === "1",
    ms: numberIn(line, "ms") ?? 0,
    firstByteMs: numberIn(line, "firstByteMs"),
    promptTokens: numberIn(line, "promptTokens"),
    completionTokens: numberIn(line, "completionTokens"),
    cachedTokens: numberIn(line, "cachedTokens"),
    costUsd: nanoUsd === undefined ? undefined : nanoUsd / 1e9,
    estimated: fieldOf(line, "estimated") === "1" ? true : undefined,
    tags: tagsIn(line),
  };
}
