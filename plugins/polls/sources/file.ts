/** A file or a directory below one of the roots. */
import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import picomatch from "picomatch";
import { decodeText } from "./decode.ts";
import { hashOf } from "./http.ts";
import { withoutIgnored } from "./ignore.ts";
import { type Answered, type Asked, CheckFailed, needs } from "./source.ts";

const MAX_ENTRIES = 10_000;

const inside = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

/** The real path of what is asked for; `undefined` where nothing is there. Refuses what lies outside all roots. */
async function confined(roots: readonly string[], asked: string): Promise<string | undefined> {
  let missing = false;
  for (const root of roots) {
    const real = await realpath(root).catch(() => undefined);
    const path = resolve(root, asked);
    if (real === undefined || !(inside(resolve(root), path) || inside(real, path))) continue;
    const found = await realpath(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw new CheckFailed(`The path cannot be read: ${error.code}.`, { cause: error });
    });
    if (found === undefined) missing = true;
    else if (inside(real, found)) return found;
  }
  if (missing) return undefined;
  throw new CheckFailed("The path lies outside the workspace and the directories of polls.roots.");
}

/** A directory lists its files (new and changed ones are items); a file is one text. */
export async function readFileSource({ source, roots, maxBytes }: Asked): Promise<Answered> {
  if (source.path === undefined) throw needs("path", "file");
  const path = await confined(roots, source.path);
  if (path === undefined) return { found: { kind: "text", text: "", hash: "absent" }, bytes: 0 };
  const facts = await stat(path);
  if (facts.isDirectory()) return { found: { kind: "items", items: await entries(path, source.match) }, bytes: 0 };
  if (!facts.isFile()) throw new CheckFailed("The path is neither a file nor a directory.");
  if (facts.size > maxBytes) throw new CheckFailed(`The file is larger than ${maxBytes} bytes.`);
  const content = await readFile(path);
  const text = content.includes(0) ? "" : withoutIgnored(decodeText(content), source.ignore);
  const hash = hashOf(source.ignore === undefined ? content : text);
  return { found: { kind: "text", text, hash }, bytes: content.length };
}

async function entries(dir: string, match: string | undefined) {
  const matches = picomatch(match ?? "*");
  const names = (await readdir(dir)).filter((name) => matches(name)).sort();
  if (names.length > MAX_ENTRIES)
    throw new CheckFailed(`The directory has more than ${MAX_ENTRIES} entries: narrow it with match.`);
  const found = [];
  for (const name of names) {
    const facts = await lstat(join(dir, name)).catch(() => undefined);
    if (!facts?.isFile()) continue;
    const value = {
      name,
      path: name,
      size: facts.size,
      modifiedAt: facts.mtime.toISOString(),
    };
    found.push({ value, id: `${name} ${facts.size} ${facts.mtimeMs}` });
  }
  return found;
}
