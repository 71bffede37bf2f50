/** A cache of files that can be regenerated at some cost. Each begins with a line that describes its sources. */
import { readFileSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { writeWhole } from "../files/write-whole.ts";

/** Reads a cached file. Returns undefined if it is missing or incomplete. */
export function readCached<H>(file: string): { head: H; body: Buffer } | undefined {
  try {
    const bytes = readFileSync(file);
    const end = bytes.indexOf("\n");
    const { size, ...head } = JSON.parse(bytes.toString("utf8", 2, end));
    const body = bytes.subarray(end + 1);
    return body.length === size ? { head, body } : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a file to the cache. A read-only installation, or a full disk, works without it. */
export function writeCache(file: string, head: object, body: string | Buffer): void {
  try {
    const bytes = Buffer.from(body);
    const line = Buffer.from(`//${JSON.stringify({ ...head, size: bytes.length })}\n`);
    // Other users read the cache of a package that one user has installed, but not the cache in a home.
    const directory = statSync(dirname(file), { throwIfNoEntry: false })?.mode ?? 0;
    // Replacing a file waits for the disk on ext4, so the old one is removed first: a lost file is regenerated.
    rmSync(file, { force: true });
    writeWhole(file, Buffer.concat([line, bytes]), 0o600 | (directory & 0o044));
  } catch {
    // The next load generates it again.
  }
}
