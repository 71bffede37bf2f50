/**
 * `npm run corpus`: reads the corpus of Python's feedparser with the feed reader of `plugins/polls` and with feedparser
 * itself, and compares how many items each finds, with their dates, titles and links. Each difference has a reason in `reasons.ts`, or
 * fails the run. It takes Python and the network (the source package of feedparser comes from PyPI into a cache folder,
 * `PORTICO_CORPUS_CACHE`), so it is no part of `npm test`.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { decodeHTMLStrict } from "entities";
import { decodeText } from "portico/strings";
import { parseFeedDate } from "../../plugins/polls/sources/feeds/feed-date.ts";
import { parseFeed } from "../../plugins/polls/sources/feeds/feed.ts";
import { type Comparison, reasonFor } from "./reasons.ts";

const VERSION = "6.0.14";
const CACHE = process.env["PORTICO_CORPUS_CACHE"] ?? join(homedir(), ".cache", "portico-corpus");
const PYTHON = join(CACHE, "python", "bin", "python");
const CORPUS = join(CACHE, `feedparser-${VERSION}`, "tests");
/** Where the feeds are said to come from. */
const PLACE = "http://example.org/feed";
const FIELDS = ["date", "title", "link"] as const;
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

/** What differs first: the dates, else the titles, else the links. Undefined where both read the same. */
async function compare(file: string, { version, entries }: Feed): Promise<Comparison | undefined> {
  const text = decodeText(readFileSync(join(CORPUS, file)), "application/xml");
  const theirs = {
    date: entries.map(({ time }) => time).sort(),
    title: entries.map(({ title }) => plainText(title)).sort(),
    link: entries.map(({ link }) => normalLink(link)).sort(),
  };
  const read = { file, text, version };
  try {
    const items = (await parseFeed(text, PLACE)).map(({ value }) => value as Item);
    const ours = {
      date: items.map(timeOf).sort(),
      title: items.map(({ title }) => plainText(title)).sort(),
      link: items.map(({ link }) => normalLink(link)).sort(),
    };
    const field = FIELDS.find(
      (name) => JSON.stringify(ours[name]) !== JSON.stringify(theirs[name]),
    );
    if (field === undefined) return undefined;
    return { ...read, field, found: ours[field], expected: theirs[field], error: undefined };
  } catch (error) {
    const { message } = error as Error;
    return { ...read, field: "date", found: [], expected: theirs.date, error: message };
  }
}

/** feedparser keeps the HTML of a title, and sanitizes it; ours is a text. Both are compared by what a reader sees. */
function plainText(title: string | null | undefined): string {
  const html = (title ?? "").replace(/<[^>]*>/g, "");
  return decodeHTMLStrict(html)
    .replace(/<[^>]*>/g, "")
    .replace(/\s+/g, " ")
    .trim();
}

/** feedparser leaves a relative address as it is where the feed has no base; ours has the address of the feed. */
function normalLink(link: string | null | undefined): string {
  if (link === undefined || link === null) return "";
  return URL.canParse(link, PLACE) ? new URL(link, PLACE).href : link;
}

interface Item {
  title?: string;
  link?: string;
  published?: string;
  updated?: string;
}

/** Seconds since 1970, as feedparser counts. */
function timeOf({ published, updated }: Item): number | null {
  const time = parseFeedDate(published ?? updated ?? "");
  return time === undefined ? null : Math.floor(time / 1000);
}

function describe({ file, field, found, expected, error }: Comparison): string {
  const ours = error ?? JSON.stringify(found).slice(0, 80);
  return `${file} (${field})\n    feedparser: ${JSON.stringify(expected).slice(0, 80)}\n    ours:       ${ours}`;
}

function report(): void {
  for (const text of unexplained) console.log(text);
  console.log(`\n${Object.keys(theirs).length} feeds, ${equal} read as feedparser reads them`);
  for (const [reason, count] of counts) console.log(`${String(count).padStart(5)}  ${reason}`);
  console.log(`${String(unexplained.length).padStart(5)}  without a reason`);
}
