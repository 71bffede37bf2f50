/** Bundles kept on disk: an unchanged extension is loaded again without esbuild. */
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { writeWhole } from "../../files/write-whole.ts";
import { type Bundle, type Input, sha } from "./bundle.ts";

/** Raised when the form of cached bundles changes. */
const cacheVersion = 7;

/**
 * `byStamp`: size and time of change stand for the contents, which is for the package's own files only. Of everybody
 * else's, the contents are read: whoever exchanges a file can give it any stamp.
 */
export function readCached(file: string, entry: string, byStamp: boolean): Bundle | undefined {
  try {
    const text = readFileSync(file, "utf8");
    const lineEnd = text.indexOf("\n");
    const head = JSON.parse(text.slice(2, lineEnd)) as { version: number } & Omit<Bundle, "code">;
    const { version, inputs, codeHash, host } = head;
    const code = text.slice(lineEnd + 1);
    if (version !== cacheVersion || !inputs.every((input) => isUnchanged(input, dirname(entry), byStamp)))
      return undefined;
    if (!byStamp && sha(code).slice(0, 32) !== codeHash) return undefined;
    return { code, codeHash, host, inputs };
  } catch {
    return undefined; // none, torn, or of another version: built anew
  }
}

function isUnchanged(input: Input, dir: string, byStamp: boolean): boolean {
  const file = resolve(dir, input.path);
  const now = statSync(file, { throwIfNoEntry: false });
  if (!now || now.size !== input.size) return false;
  return (byStamp && now.mtimeMs === input.mtimeMs) || sha(readFileSync(file)) === input.hash;
}

export function writeCached(file: string, bundle: Bundle): void {
  try {
    const { code, ...head } = bundle;
    // Those of a package that one user has installed are read by others.
    writeWhole(file, `//${JSON.stringify({ version: cacheVersion, ...head })}\n${code}`, 0o644);
  } catch {
    // A read-only installation runs without the cache.
  }
}
