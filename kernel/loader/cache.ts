/** What takes time to make and can be made again, kept in files. Each begins with a line on what it was made from. */
import { readFileSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { writeWhole } from "../files/write-whole.ts";

/** Undefined where there is none, or a torn one. */
export function readKept<H>(file: string): { head: H; body: Buffer } | undefined {
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

/** A read-only installation, or a full disk, does without. */
export function keep(file: string, head: object, body: string | Buffer): void {
  try {
    const bytes = Buffer.from(body);
    const line = Buffer.from(`//${JSON.stringify({ ...head, size: bytes.length })}\n`);
    // Those of a package that one user has installed are read by others; those in a home are not.
    const directory = statSync(dirname(file), { throwIfNoEntry: false })?.mode ?? 0;
    // To replace a file is to wait for the disk, where it is ext4's: here one that is lost is made again.
    rmSync(file, { force: true });
    writeWhole(file, Buffer.concat([line, bytes]), 0o600 | (directory & 0o044));
  } catch {
    // The next load makes it again.
  }
}
