/** Reads a file or a directory below one of the roots. */
import type { Stats } from "node:fs";
import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import picomatch from "picomatch";
import { decodeText } from "portico/strings";
import { confinePath } from "./confined.ts";
import { detectEnding } from "./ending.ts";
import { hashOf } from "./http.ts";
import { removeIgnoredLines } from "./pages/ignore.ts";
import {
  type ReadResult,
  type ReadRequest,
  CheckFailed,
  createFieldMissingError,
} from "./source.ts";

const MAX_ENTRIES = 10_000;

/** A directory is a list of its files, in which changed files count as new items. A file is one text. */
export async function readFileSource(request: ReadRequest): Promise<ReadResult> {
  const { source, roots } = request;
  if (source.path === undefined) throw createFieldMissingError("path", "file");
  const path = confinePath(roots, source.path);
  if (path === undefined) return { content: { kind: "text", text: "", hash: "absent" }, bytes: 0 };
  const stats = await stat(path);
  if (stats.isDirectory())
    return { content: { kind: "items", items: await listDirectory(path, request) }, bytes: 0 };
  if (!stats.isFile()) throw new CheckFailed("The path is neither a file nor a directory.");
  const content = await readSettled(path, request);
  const fullText = content.includes(0) ? "" : decodeText(content);
  const text = await removeIgnoredLines(fullText, source.ignore);
  const hash = hashOf(source.ignore === undefined ? content : text);
  const ending = await detectEnding(fullText, TYPES[extname(path).toLowerCase()]);
  return { content: { kind: "text", text, hash, ending }, bytes: content.length };
}

/** The format of files by extension. A file that is incomplete in its format is cut off. */
const TYPES: Record<string, string> = {
  ".json": "json",
  ".xml": "xml",
  ".rss": "xml",
  ".atom": "xml",
  ".svg": "xml",
};

/** Returns a value that changes with each write to the file. */
const fingerprint = ({ size, mtimeMs, ino }: Stats): string => `${ino} ${size} ${mtimeMs}`;

/** Reads a file once no process writes to it; throws if writes continue until the deadline. */
async function readSettled(
  path: string,
  { settleMs, timeoutMs, maxBytes, signal }: ReadRequest,
): Promise<Buffer> {
  const deadline = performance.now() + timeoutMs;
  const now = Date.now();
  let statsBefore = await stat(path);
  // Another machine's clock may have set the file's time, so it only counts that the time stays the same.
  for (let isFresh = Math.abs(now - statsBefore.mtimeMs) < settleMs; ; isFresh = true) {
    if (isFresh) await sleep(settleMs, undefined, { signal });
    if (statsBefore.size > maxBytes)
      throw new CheckFailed(`The file is larger than ${maxBytes} bytes.`);
    const content = await readFile(path);
    const statsAfter = await stat(path);
    if (fingerprint(statsAfter) === fingerprint(statsBefore)) return content;
    if (performance.now() > deadline) throw new CheckFailed("The file is being written to.");
    statsBefore = statsAfter;
  }
}

async function listDirectory(
  dir: string,
  { source: { match = "*" }, settleMs, signal }: ReadRequest,
) {
  const matches = picomatch(match);
  const names = (await readdir(dir)).filter((name) => matches(name)).sort();
  if (names.length > MAX_ENTRIES)
    throw new CheckFailed(
      `The directory has more than ${MAX_ENTRIES} entries. Set source.match to select fewer entries.`,
    );
  const now = Date.now();
  const files = await statFiles(dir, names);
  const recentFiles = files.filter(({ stats }) => Math.abs(now - stats.mtimeMs) < settleMs);
  if (recentFiles.length > 0) await sleep(settleMs, undefined, { signal });
  const laterFingerprints = new Map(
    (
      await statFiles(
        dir,
        recentFiles.map(({ name }) => name),
      )
    ).map(({ name, stats }) => [name, fingerprint(stats)]),
  );
  // The next check reads files that are being written now.
  const settledFiles = files.filter(
    (file) =>
      !recentFiles.includes(file) || laterFingerprints.get(file.name) === fingerprint(file.stats),
  );
  return settledFiles.map(({ name, stats }) => ({
    value: { name, path: name, size: stats.size, modifiedAt: stats.mtime.toISOString() },
    id: `${name} ${stats.size} ${stats.mtimeMs}`,
  }));
}

async function statFiles(
  dir: string,
  names: readonly string[],
): Promise<{ name: string; stats: Stats }[]> {
  const files = [];
  for (const name of names) {
    const stats = await lstat(join(dir, name)).catch(() => undefined);
    if (stats?.isFile()) files.push({ name, stats });
  }
  return files;
}
