/** Files of ours below the temporary root: what they are called, and how many are kept. */
import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";

/** How many files without a chosen name are kept in a directory. */
const KEPT = 200;
const MOST_CHARACTERS = 120;
/** File systems count bytes, and most take 255 of them. */
const MOST_BYTES = 200;

/** A name that a file system takes, whatever a page or another machine suggests: one step of a path, its end kept. */
export function plainName(suggested: string, instead = "file"): string {
  const characters = [...suggested.replace(/[\u0000-\u001f\u007f/\\:*?"<>|]/g, "_")].slice(
    -MOST_CHARACTERS,
  );
  while (Buffer.byteLength(characters.join("")) > MOST_BYTES) characters.shift();
  const name = characters.join("").replace(/^[\s.]+/, "_");
  return name === "" ? instead : name;
}

/** Removes the oldest files of a directory of ours, down to as many as are kept. */
export async function thinOut(dir: string): Promise<void> {
  const names = await readdir(dir);
  if (names.length <= KEPT) return;
  const age = async (name: string) => ({
    name,
    at: (await stat(join(dir, name)).catch(() => undefined))?.mtimeMs ?? 0,
  });
  const files = await Promise.all(names.map(age));
  files.sort((a, b) => a.at - b.at);
  await Promise.all(
    files.slice(0, -KEPT).map(({ name }) => unlink(join(dir, name)).catch(() => {})),
  );
}
