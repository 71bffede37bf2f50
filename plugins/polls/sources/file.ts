/** A file or a directory below one of the roots. */
import type { Stats } from "node:fs";
import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import picomatch from "picomatch";
import { decodeText } from "portico/strings";
import { confinePath } from "./confined.ts";
import { endingOf } from "./ending.ts";
import { hashOf } from "./http.ts";
import { withoutIgnored } from "./pages/ignore.ts";
import { type ReadResult, type ReadRequest, CheckFailed, fieldMissing } from "./source.ts";

const MAX_ENTRIES = 10_000;

/** A directory lists its files (new and changed ones are items); a file is one text. */
export async function readFileSource(request: ReadRequest): Promise<ReadResult> {
  const { source, roots } = request;
  if (source.path === undefined) throw fieldMissing("path", "file");
  const path = confinePath(roots, source.path);
  if (path === undefined) return { content: { kind: "text", text: "", hash: "absent" }, bytes: 0 };
  const facts = await stat(path);
  if (facts.isDirectory())
    return { content: { kind: "items", items: await entries(path, request) }, bytes: 0 };
  if (!facts.isFile()) throw new CheckFailed("The path is neither a file nor a directory.");
  const content = await settledContent(path, request);
  const whole = content.includes(0) ? "" : decodeText(content);
  const text = await withoutIgnored(whole, source.ignore);
  const hash = hashOf(source.ignore === undefined ? content : text);
  const ending = await endingOf(whole, TYPES[extname(path).toLowerCase()]);
  return { content: { kind: "text", text, hash, ending }, bytes: content.length };
}

/** What a file of this name must be, to be whole. */
const TYPES: Record<string, string> = {
  ".json": "json",
  ".xml": "xml",
  ".rss": "xml",
  ".atom": "xml",
  ".svg": "xml",
};

/** If two readings of a file agree in these values, nothing was written between them. */
const trace = ({ size, mtimeMs, ino }: Stats): string => `${ino} ${size} ${mtimeMs}`;

/** Reads a file once no process writes to it; throws if writes continue until the deadline. */
async function settledContent(
  path: string,
  { settleMs, timeoutMs, maxBytes, signal }: ReadRequest,
): Promise<Buffer> {
  const deadline = performance.now() + timeoutMs;
  const now = Date.now();
  let before = await stat(path);
  // A clock of another machine may have set the time of the file: what counts is that it stays.
  for (let isFresh = Math.abs(now - before.mtimeMs) < settleMs; ; isFresh = true) {
    if (isFresh) await sleep(settleMs, undefined, { signal });
    if (before.size > maxBytes) throw new CheckFailed(`The file is larger than ${maxBytes} bytes.`);
    const content = await readFile(path);
    const after = await stat(path);
    if (trace(after) === trace(before)) return content;
    if (performance.now() > deadline) throw new CheckFailed("The file is being written to.");
    before = after;
  }
}

async function entries(dir: string, { source: { match = "*" }, settleMs, signal }: ReadRequest) {
  const matches = picomatch(match);
  const names = (await readdir(dir)).filter((name) => matches(name)).sort();
  if (names.length > MAX_ENTRIES)
    throw new CheckFailed(
      `The directory has more than ${MAX_ENTRIES} entries. Set source.match to select fewer of them.`,
    );
  const now = Date.now();
  const files = await filesAmong(dir, names);
  const fresh = files.filter(({ facts }) => Math.abs(now - facts.mtimeMs) < settleMs);
  if (fresh.length > 0) await sleep(settleMs, undefined, { signal });
  const still = new Map(
    (
      await filesAmong(
        dir,
        fresh.map(({ name }) => name),
      )
    ).map(({ name, facts }) => [name, trace(facts)]),
  );
  // One that is being written to is left to the next check.
  const settled = files.filter(
    (file) => !fresh.includes(file) || still.get(file.name) === trace(file.facts),
  );
  return settled.map(({ name, facts }) => ({
    value: { name, path: name, size: facts.size, modifiedAt: facts.mtime.toISOString() },
    id: `${name} ${facts.size} ${facts.mtimeMs}`,
  }));
}

async function filesAmong(
  dir: string,
  names: readonly string[],
): Promise<{ name: string; facts: Stats }[]> {
  const files = [];
  for (const name of names) {
    const facts = await lstat(join(dir, name)).catch(() => undefined);
    if (facts?.isFile()) files.push({ name, facts });
  }
  return files;
}
