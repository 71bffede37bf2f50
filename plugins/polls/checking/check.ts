/** One look at a source: what it holds, and what of that is new. Nothing is written here. */
import type { BrowserService } from "portico/browser";
import type { Guard } from "portico/egress";
import { lineDiff } from "./diff.ts";
import { newItems } from "../identity.ts";
import { type CheckStatus, type Cursor, placeOf } from "../poll.ts";
import type { Source } from "../schema.ts";
import { refuseCutOff } from "../sources/ending.ts";
import {
  type SourceContent,
  type ReadResult,
  type ReadRequest,
  CheckFailed,
} from "../sources/source.ts";

const TEXT_KEPT = 200_000;
/** Against nothing, a large text would be shown as new from its first line to its last. */
const NOT_KEPT = "(no difference can be shown: a text of more than 200,000 characters is not kept)";
/** A server that answers 304 for ever gets a request without a condition once a day. */
const FULL_EVERY_MS = 86_400_000;
const SAMPLE_ITEMS = 20;

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

type ItemsContent = Extract<SourceContent, { kind: "items" }>;
type TextContent = Extract<SourceContent, { kind: "text" }>;
/** What a comparison says; the facts about the request are added to it. */
type Comparison = Omit<Checked, "httpStatus" | "bytes">;
type Moment = Pick<Cursor, "fullAt" | "validators">;

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
  const { cursor, now } = options;
  const needsFullRead = cursor === undefined || now - cursor.fullAt >= FULL_EVERY_MS;
  const validators = needsFullRead ? undefined : cursor.validators;
  const result = await read({ ...options, validators });
  const moment: Moment = { fullAt: now, validators: result.validators };
  const comparison = await compare(result.content, options, moment);
  return { ...comparison, bytes: result.bytes, httpStatus: result.status };
}

async function compare(
  content: SourceContent,
  options: CheckOptions,
  moment: Moment,
): Promise<Comparison> {
  if (content.kind === "unchanged")
    return { status: "unchanged", cursor: options.cursor, news: [], sample: [] };
  if (content.kind === "items") return compareItems(content, options, moment);
  return compareText(content, options, moment);
}

async function compareItems(
  { items }: ItemsContent,
  { cursor, fireOnFirst }: CheckOptions,
  moment: Moment,
): Promise<Comparison> {
  const isFirst = cursor?.kind !== "items";
  const { fresh, seen } = await newItems(items, isFirst ? [] : (cursor.seen ?? []));
  const news = isFirst && !fireOnFirst ? [] : fresh.map((item) => item.value);
  return {
    status: statusOf(news.length > 0, isFirst),
    cursor: { kind: "items", seen, ...moment },
    news,
    listed: items.length,
    sample: items.slice(-SAMPLE_ITEMS).map((item) => item.value),
  };
}

function compareText(content: TextContent, options: CheckOptions, moment: Moment): Comparison {
  const { source, fireOnFirst } = options;
  const { text, hash, ending } = content;
  refuseCutOff(ending, options.cursor?.form);
  const before = options.cursor?.kind === "text" ? options.cursor : undefined;
  const isFirst = before === undefined;
  const isAbsent = hash === "absent";
  if (isAbsent && !isFirst && before.hash !== "absent")
    throw new CheckFailed("The file no longer exists.");
  const isChanged = isFirst ? fireOnFirst && !isAbsent : before.hash !== hash;
  return {
    status: statusOf(isChanged, isFirst),
    cursor: {
      kind: "text",
      hash,
      text: text.length <= TEXT_KEPT ? text : undefined,
      form: ending?.isWhole ? ending.form : undefined,
      ...moment,
    },
    news: isChanged ? [{ text: text.slice(0, TEXT_KEPT), url: placeOf(source), hash }] : [],
    diff: isChanged ? differenceOf(isFirst ? "" : before.text, text) : undefined,
    sample: [],
    text,
  };
}

/** `before` is undefined where the text was too large to be kept. */
function differenceOf(before: string | undefined, text: string): string {
  return before === undefined ? NOT_KEPT : lineDiff(before, text);
}

function statusOf(isChanged: boolean, isFirst: boolean): Checked["status"] {
  if (isChanged) return "changed";
  return isFirst ? "baseline" : "unchanged";
}
