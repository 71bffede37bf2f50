/** What takes time to make and can be made again, kept in files. Each begins with a line on what it was made from. */
import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { writeWhole } from "../files/write-whole.ts";

/** Undefined where there is none, or a torn one. */
export function readKept<H>(file: string): { head: H; body: Buffer } | undefined {
  try {
    const bytes = readFileSync(file);
    const end = bytes.indexOf("\n");
    return { head: JSON.parse(bytes.toString("utf8", 2, end)) as H, body: bytes.subarray(end + 1) };
  } catch {
    return undefined;
  }
}

/** A read-only installation, or a full disk, does without. */
export function keep(file: string, head: object, body: string | Buffer): void {
  try {
    const line = Buffer.from(`//${JSON.stringify(head)}\n`);
    // Those of a package that one user has installed are read by others; those in a home are not.
    const directory = statSync(dirname(file), { throwIfNoEntry: false })?.mode ?? 0;
    writeWhole(file, Buffer.concat([line, Buffer.from(body)]), 0o600 | (directory & 0o044));
  } catch {
    // made anew the next time
  }
}
