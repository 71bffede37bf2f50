/** Names the gateway's own files below the temporary root, and limits their number. */
import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";

/** The number of files without a caller's name that are kept in a directory. */
const KEPT_FILES = 200;
const MAX_CHARACTERS = 120;
/** File systems limit names in bytes, most of them to 255. */
const MAX_BYTES = 200;

/**
 * Returns a valid file name, whatever a page or another machine suggests: a single path segment. A long name keeps its
 * end.
 */
export function plainName(suggested: string, fallback = "file"): string {
  const characters = [...suggested.replace(/[\u0000-\u001f\u007f/\\:*?"<>|]/g, "_")].slice(
    -MAX_CHARACTERS,
  );
  while (Buffer.byteLength(characters.join("")) > MAX_BYTES) characters.shift();
  const name = characters.join("").replace(/^[\s.]+/, "_");
  return name === "" ? fallback : name;
}

/** Removes the oldest files of one of the gateway's directories, down to the number that is kept. */
export async function thinOut(dir: string): Promise<void> {
  const names = await readdir(dir);
  if (names.length <= KEPT_FILES) return;
  const withAge = async (name: string) => ({
    name,
    at: (await stat(join(dir, name)).catch(() => undefined))?.mtimeMs ?? 0,
  });
  const files = await Promise.all(names.map(withAge));
  files.sort((a, b) => a.at - b.at);
  await Promise.all(
    files.slice(0, -KEPT_FILES).map(({ name }) => unlink(join(dir, name)).catch(() => {})),
  );
}
