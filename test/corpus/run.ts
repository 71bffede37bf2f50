/**
 * `npm run corpus`: reads the corpus of Python's feedparser with the feed reader of `plugins/polls` and with feedparser
 * itself, and compares how many items each finds, with their dates. Each difference has a reason in `reasons.ts`, or
 * fails the run. It takes Python and the network (the source package of feedparser comes from PyPI into a cache folder,
 * `PORTICO_CORPUS_CACHE`), so it is no part of `npm test`.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { decodeText } from "portico/strings";
import { parseFeedDate } from "../../plugins/polls/sources/feeds/feed-date.ts";
import { feedItems } from "../../plugins/polls/sources/feeds/feed.ts";
import { type Comparison, reasonFor } from "./reasons.ts";

const VERSION = "6.0.14";
const CACHE = process.env["PORTICO_CORPUS_CACHE"] ?? join(homedir(), ".cache", "portico-corpus");
const PYTHON = join(CACHE, "python", "bin", "python");
const CORPUS = join(CACHE, `feedparser-${VERSION}`, "tests");
const MOST_OUTPUT = 64 * 1024 * 1024;

interface Feed {
  version: string;
  entries: { title: string | null; link: string | null; time: number | null }[];
}

install();
const theirs = readTheirs();
const counts = new Map<string, number>();
const unexplained: string[] = [];
let equal = 0;
for (const [file, feed] of Object.entries(theirs)) {
  const comparison = await compare(file, feed);
  if (comparison === undefined) {
    equal += 1;
    continue;
  }
  const reason = reasonFor(comparison);
  if (reason === undefined) unexplained.push(describe(comparison));
  else counts.set(reason, (counts.get(reason) ?? 0) + 1);
}
report();
process.exit(unexplained.length > 0 ? 1 : 0);

function install(): void {
  mkdirSync(CACHE, { recursive: true });
  if (!existsSync(PYTHON)) {
    execFileSync("python3", ["-m", "venv", join(CACHE, "python")], { stdio: "inherit" });
    run("-m", "pip", "install", "--quiet", `feedparser==${VERSION}`);
  }
  if (existsSync(CORPUS)) return;
  const source = ["--no-deps", "--no-binary", ":all:", "--dest", CACHE];
  run("-m", "pip", "download", "--quiet", ...source, `feedparser==${VERSION}`);
  execFileSync("tar", ["xzf", `feedparser-${VERSION}.tar.gz`], { cwd: CACHE });
}

function run(...args: string[]): void {
  execFileSync(PYTHON, args, { stdio: "inherit" });
}

function readTheirs(): Record<string, Feed> {
  const script = join(import.meta.dirname, "entries.py");
  const options = { encoding: "utf8", maxBuffer: MOST_OUTPUT } as const;
  return JSON.parse(execFileSync(PYTHON, [script, CORPUS], options));
}

/** Undefined where both read the same. */
async function compare(file: string, { version, entries }: Feed): Promise<Comparison | undefined> {
  const text = decodeText(readFileSync(join(CORPUS, file)), "application/xml");
  const expected = entries.map(({ time }) => time).sort();
  const read = { file, text, version, expected };
  try {
    const items = await feedItems(text, "http://example.org/feed");
    const found = items.map(({ value }) => timeOf(value as ItemDates)).sort();
    if (JSON.stringify(found) === JSON.stringify(expected)) return undefined;
    return { ...read, found, error: undefined };
  } catch (error) {
    return { ...read, found: [], error: (error as Error).message };
  }
}

interface ItemDates {
  published?: string;
  updated?: string;
}

/** Seconds since 1970, as feedparser counts. */
function timeOf({ published, updated }: ItemDates): number | null {
  const time = parseFeedDate(published ?? updated ?? "");
  return time === undefined ? null : Math.floor(time / 1000);
}

function describe({ file, found, expected, error }: Comparison): string {
  const ours = error ?? JSON.stringify(found).slice(0, 80);
  return `${file}\n    feedparser: ${JSON.stringify(expected).slice(0, 80)}\n    ours:       ${ours}`;
}

function report(): void {
  for (const text of unexplained) console.log(text);
  console.log(`\n${Object.keys(theirs).length} feeds, ${equal} read as feedparser reads them`);
  for (const [reason, count] of counts) console.log(`${String(count).padStart(5)}  ${reason}`);
  console.log(`${String(unexplained.length).padStart(5)}  without a reason`);
}
