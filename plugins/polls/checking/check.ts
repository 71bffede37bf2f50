/** Reads a source and finds what is new, without writing anything. */
import type { BrowserService } from "portico/browser";
import type { Guard } from "portico/egress";
import { diffLines } from "./diff.ts";
import { findNewItems } from "../identity.ts";
import { type CheckStatus, type Cursor, placeOf } from "../poll.ts";
import type { Source } from "../schema.ts";
import { refuseCutOff } from "../sources/ending.ts";
import {
  type SourceContent,
  type ReadResult,
  type ReadRequest,
  CheckFailed,
} from "../sources/source.ts";

const MAX_STORED_CHARS = 200_000;
/** The diff of a text whose previous version was not stored. A diff against nothing would show every line as new. */
const NO_DIFFERENCE =
  "(no difference can be shown, because texts of more than 200,000 characters are not stored)";
/** The interval of unconditional requests, because a faulty server may respond with 304 for ever. */
const FULL_READ_INTERVAL_MS = 86_400_000;
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

export interface SourceCheck {
  status: Exclude<CheckStatus, "error">;
  cursor: Cursor | undefined;
  /** The new items, oldest first; for a source that is one text, a single entry. */
  news: unknown[];
  diff?: string;
  /** The number of items that the source lists now. */
  listed?: number;
  sample: unknown[];
  text?: string;
  httpStatus?: number;
  bytes: number;
}

type ItemsContent = Extract<SourceContent, { kind: "items" }>;
type TextContent = Extract<SourceContent, { kind: "text" }>;
/** The result of a comparison, without the facts about the request. */
type Comparison = Omit<SourceCheck, "httpStatus" | "bytes">;
type CursorFacts = Pick<Cursor, "fullAt" | "validators">;

async function readSource(request: ReadRequest): Promise<ReadResult> {
  const { kind } = request.source;
  if (kind === "json") return (await import("../sources/json.ts")).readJson(request);
  if (kind === "feed") return (await import("../sources/feeds/feed.ts")).readFeed(request);
  if (kind === "html") return (await import("../sources/pages/html.ts")).readHtml(request);
  if (kind === "file") return (await import("../sources/file.ts")).readFileSource(request);
  return (await import("../sources/http.ts")).readHttp(request);
}

/**
 * Reads the source and compares it with the cursor. Throws `CheckFailed` or `PorticoError` if it cannot be read, which
 * never counts as a change.
 */
export async function check(options: CheckOptions): Promise<SourceCheck> {
  const { cursor, now } = options;
  const needsFullRead = cursor === undefined || now - cursor.fullAt >= FULL_READ_INTERVAL_MS;
  const validators = needsFullRead ? undefined : cursor.validators;
  const result = await readSource({ ...options, validators });
  const cursorFacts: CursorFacts = { fullAt: now, validators: result.validators };
  const comparison = await compare(result.content, options, cursorFacts);
  return { ...comparison, bytes: result.bytes, httpStatus: result.status };
}

async function compare(
  content: SourceContent,
  options: CheckOptions,
  cursorFacts: CursorFacts,
): Promise<Comparison> {
  if (content.kind === "unchanged")
    return { status: "unchanged", cursor: options.cursor, news: [], sample: [] };
  if (content.kind === "items") return compareItems(content, options, cursorFacts);
  return compareText(content, options, cursorFacts);
}

async function compareItems(
  { items }: ItemsContent,
  { cursor, fireOnFirst }: CheckOptions,
  cursorFacts: CursorFacts,
): Promise<Comparison> {
  const isFirst = cursor?.kind !== "items";
  const { newItems, seenKeys } = await findNewItems(items, isFirst ? [] : (cursor.seen ?? []));
  const news = isFirst && !fireOnFirst ? [] : newItems.map((item) => item.value);
  return {
    status: statusOf(news.length > 0, isFirst),
    cursor: { kind: "items", seen: seenKeys, ...cursorFacts },
    news,
    listed: items.length,
    sample: items.slice(-SAMPLE_ITEMS).map((item) => item.value),
  };
}

function compareText(
  content: TextContent,
  options: CheckOptions,
  cursorFacts: CursorFacts,
): Comparison {
  const { source, fireOnFirst } = options;
  const { text, hash, ending } = content;
  refuseCutOff(ending, options.cursor?.form);
  const previous = options.cursor?.kind === "text" ? options.cursor : undefined;
  const isFirst = previous === undefined;
  const isAbsent = hash === "absent";
  if (isAbsent && !isFirst && previous.hash !== "absent")
    throw new CheckFailed("The file no longer exists.");
  const isChanged = isFirst ? fireOnFirst && !isAbsent : previous.hash !== hash;
  return {
    status: statusOf(isChanged, isFirst),
    cursor: {
      kind: "text",
      hash,
      text: text.length <= MAX_STORED_CHARS ? text : undefined,
      form: ending?.isWhole ? ending.form : undefined,
      ...cursorFacts,
    },
    news: isChanged ? [{ text: text.slice(0, MAX_STORED_CHARS), url: placeOf(source), hash }] : [],
    diff: isChanged ? describeDifference(isFirst ? "" : previous.text, text) : undefined,
    sample: [],
    text,
  };
}

/** `previousText` is undefined if it was too large to be stored. */
function describeDifference(previousText: string | undefined, text: string): string {
  return previousText === undefined ? NO_DIFFERENCE : diffLines(previousText, text);
}

function statusOf(isChanged: boolean, isFirst: boolean): SourceCheck["status"] {
  if (isChanged) return "changed";
  return isFirst ? "baseline" : "unchanged";
}
