/** Pages of single requests, newest first, read from the store's blocks backwards. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { RequestBlock, Store } from "portico/store";
import { escapeName, fieldOf, type Line, nameIn, numberIn, readLines } from "./lines.ts";
import { placeText, type RequestsQuery } from "./query.ts";

/** How many requests are searched at a time, so that no other caller waits for long; the first block has only what a page needs. */
const AT_A_TIME = 2000;

/** What is not known is absent. */
export interface RequestView {
  /** As in the answer's `x-request-id`. */
  requestId: string;
  /** ISO time of its end. */
  at: string;
  channel: string;
  model: string;
  /** Null for the owner. */
  key: string | null;
  /** 499: the client left. */
  status: number;
  attempts: number;
  stream: boolean;
  ms: number;
  firstByteMs?: number | undefined;
  promptTokens?: number | undefined;
  completionTokens?: number | undefined;
  /** Of the prompt's. */
  cachedTokens?: number | undefined;
  costUsd?: number | undefined;
  /** The tokens are the gateway's estimate, and so is the cost. */
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

/** Rejects where the store cannot be read. */
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

/** The newest lines that the query asks for, and one more where another page follows. */
async function newestLines(store: Store, query: RequestsQuery): Promise<Line[]> {
  const { from, to, limit } = query;
  const until = Math.min(to, query.before?.at ?? to);
  const fits = filterOf(query);
  const lines: Line[] = [];
  let after: RequestBlock | undefined;
  for (;;) {
    const least = after === undefined ? limit + 1 : AT_A_TIME;
    const blocks = await store.usage.requests({ since: from, until, after, least });
    lines.push(...blocks.flatMap((block) => [...readLines(block)].filter(fits)));
    lines.sort((a, b) => b.at - a.at || b.number - a.number).splice(limit + 1);
    after = blocks.at(-1);
    if (after === undefined || isSettled(lines[limit], after)) return lines;
    await nextTurn();
  }
}

/**
 * Whether no block after this one can have anything that comes before the line. Blocks of several gateways overlap in
 * time: only what is later than the end of all that is unread has its place for good.
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
    return names.every(([name, wanted]) => fieldOf(line, name) === wanted);
  };
}

/** `wanted` is a status (429) or a class of statuses (4xx). */
function matchesStatus(status: string, wanted: string): boolean {
  if (!wanted.endsWith("xx")) return status === wanted;
  return status.length === wanted.length && status.charAt(0) === wanted.charAt(0);
}

/** Undefined where there are none. */
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
