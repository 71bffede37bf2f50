/**
 * Stores which contents of workspace hooks their owner has approved. With `hooks.trust` set to `approved`, others do
 * not run.
 */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { listFilesBelow, readJson } from "../../../files/listing.ts";
import { writeWhole } from "../../../files/write-whole.ts";

/**
 * Opens the approvals, a file in the state directory keyed by the hook's directory. If it cannot be read, nothing is
 * approved.
 */
export function openApprovals(file: string) {
  const read = () => readJson<Record<string, { hash: string; at: string }>>(file) ?? {};
  return {
    isApproved: (dir: string, hash: string | undefined): boolean =>
      hash !== undefined && read()[dir]?.hash === hash,
    approve(dir: string, hash: string): void {
      const approvals = { ...read(), [dir]: { hash, at: new Date().toISOString() } };
      writeWhole(file, `${JSON.stringify(approvals, null, 2)}\n`);
    },
  };
}

/** Returns a hash of every file below a directory, including `node_modules` but not `.git`. */
export function fingerprint(dir: string): string {
  const hash = createHash("sha256");
  const files = listFilesBelow(dir, ".git").sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const { entry, path } of files) {
    const file = join(dir, path);
    if (!entry.isSymbolicLink() && !entry.isFile()) continue;
    const content = entry.isFile() ? readFileSync(file) : `-> ${readlinkSync(file)}`;
    hash.update(`${JSON.stringify(path)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}
