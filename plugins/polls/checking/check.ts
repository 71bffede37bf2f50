/** One look at a source: what it holds, and what of that is new. Nothing is written here. */
import type { BrowserService } from "portico/browser";
import type { Guard } from "portico/egress";
import { lineDiff } from "./diff.ts";
import { type Item, newItems } from "../identity.ts";
import { type CheckStatus, type Cursor, placeOf } from "../poll.ts";
import type { Source } from "../schema.ts";
import { refuseCutOff } from "../sources/ending.ts";
import { type ReadResult, type ReadRequest, CheckFailed } from "../sources/source.ts";

const TEXT_KEPT = 200_000;
/** Against nothing, a large text would be shown as new from its first line to its last. */
const NOT_KEPT = "(no difference can be shown: a text of more than 200,000 characters is not kept)";
/** A server that answers 304 for ever is asked without a condition once a day. */
const FULL_EVERY_MS = 86_400_000;

export interface CheckOptions {
  source: Source;
  cursor: Cursor | undefined;
  fireOnFirst: boolean;
  guard: Guard;
  roots: readonly string[];
  timeoutMs: number;
  maxBytes: number;
  settleMs: number;
  browser(): BrowserService;
  signal: AbortSignal;
  now: number;
}

export interface Checked {
  status: Exclude<CheckStatus, "error">;
  cursor: Cursor | undefined;
  /** What is new, oldest first; one entry with `diff` for a source that is one text. */
  news: unknown[];
  diff?: string;
  /** How many items the source lists now, and the first of them. */
  listed?: number;
  sample: unknown[];
  text?: string;
  httpStatus?: number;
  bytes: number;
}

async function read(request: ReadRequest): Promise<ReadResult> {
  const { kind } = request.source;
  if (kind === "json") return (await import("../sources/json.ts")).readJson(request);
  if (kind === "feed") return (await import("../sources/feeds/feed.ts")).readFeed(request);
  if (kind === "html") return (await import("../sources/pages/html.ts")).readHtml(request);
  if (kind === "file") return (await import("../sources/file.ts")).readFileSource(request);
  return (await import("../sources/http.ts")).readHttp(request);
}

/** Reads the source and compares. Throws (`CheckFailed` or `PorticoError`) where it cannot be read: never a change. */
export async function check(options: CheckOptions): Promise<Checked> {
  const { source, cursor, now } = options;
  const due = cursor === undefined || now - cursor.fullAt >= FULL_EVERY_MS;
  const result = await read({ ...options, validators: due ? undefined : cursor.validators });
  const { found, validators } = result;
  const facts = { bytes: result.bytes, httpStatus: result.status };
  if (found.kind === "unchanged")
    return { status: "unchanged", cursor, news: [], sample: [], ...facts };
  const kept = { fullAt: now, validators };
  if (found.kind === "items") {
    const { fresh, seen } = await compareItems(found.items, cursor);
    const first = cursor?.kind !== "items";
    const news = first && !options.fireOnFirst ? [] : fresh.map((item) => item.value);
    return {
      status: news.length > 0 ? "changed" : first ? "baseline" : "unchanged",
      cursor: { kind: "items", seen, ...kept },
      news,
      listed: found.items.length,
      sample: found.items.slice(-20).map((item) => item.value),
      ...facts,
    };
  }
  const { text, hash, ending } = found;
  refuseCutOff(ending, cursor?.form);
  const first = cursor?.kind !== "text";
  if (hash === "absent" && !first && cursor.hash !== "absent")
    throw new CheckFailed("The file is gone.");
  const changed = first ? options.fireOnFirst && hash !== "absent" : cursor.hash !== hash;
  const before = first ? "" : cursor.text;
  const diff = changed ? (before === undefined ? NOT_KEPT : lineDiff(before, text)) : undefined;
  return {
    status: changed ? "changed" : first ? "baseline" : "unchanged",
    cursor: {
      kind: "text",
      hash,
      text: text.length <= TEXT_KEPT ? text : undefined,
      form: ending?.isWhole ? ending.form : undefined,
      ...kept,
    },
    news: changed ? [{ text: text.slice(0, TEXT_KEPT), url: placeOf(source), hash }] : [],
    diff,
    sample: [],
    text,
    ...facts,
  };
}

const compareItems = (items: readonly Item[], cursor: Cursor | undefined) =>
  newItems(items, cursor?.kind === "items" ? (cursor.seen ?? []) : []);
