/** Which contents of workspace hooks their owner has approved: where `hooks.trust` is `approved`, others do not run. */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, readJson } from "../../../files/listing.ts";
import { writeWhole } from "../../../files/write-whole.ts";

/** Approvals are kept in a file of the state directory, by the hook's directory; without a readable one there are none. */
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

/** A fingerprint of every file below a directory: its `node_modules` too, `.git` not. */
export function fingerprint(dir: string): string {
  const hash = createHash("sha256");
  const files = filesBelow(dir, ".git").sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const { entry, path } of files) {
    const file = join(dir, path);
    if (!entry.isSymbolicLink() && !entry.isFile()) continue;
    const content = entry.isFile() ? readFileSync(file) : `-> ${readlinkSync(file)}`;
    hash.update(`${JSON.stringify(path)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}
