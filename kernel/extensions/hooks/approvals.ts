/** Which contents of workspace hooks their owner has approved: where `hooks.trust` is `approved`, others do not run. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { writeWhole } from "../../files/write-whole.ts";

interface Approval {
  hash: string;
  at: string;
}

/** Approvals are kept in a file of the state directory, by the hook's directory. */
export function openApprovals(file: string) {
  const read = (): Record<string, Approval> => {
    try {
      return JSON.parse(readFileSync(file, "utf8")) as Record<string, Approval>;
    } catch {
      return {}; // none yet, or unreadable: then nothing is approved
    }
  };
  return {
    isApproved: (dir: string, hash: string | undefined): boolean => hash !== undefined && read()[dir]?.hash === hash,
    approve(dir: string, hash: string): void {
      const approvals = { ...read(), [dir]: { hash, at: new Date().toISOString() } };
      writeWhole(file, `${JSON.stringify(approvals, null, 2)}\n`);
    },
  };
}

/** A fingerprint of every file below a directory: its `node_modules` too, `.git` not. */
export function fingerprint(dir: string): string {
  const hash = createHash("sha256");
  const add = (path: string, content: string | Buffer) => {
    hash.update(`${JSON.stringify(relative(dir, path))} ${content.length}\n`).update(content);
  };
  const walk = (below: string): void => {
    const entries = readdirSync(below, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const path = join(below, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== ".git") walk(path);
      } else if (entry.isSymbolicLink()) add(path, `-> ${readlinkSync(path)}`);
      else if (entry.isFile()) add(path, readFileSync(path));
    }
  };
  walk(dir);
  return hash.digest("hex");
}
