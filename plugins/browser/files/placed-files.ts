/** Stores files below the temporary root, under generated names or confined names of the caller. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { ensureTmpRoot, openConfined, writeConfined } from "./confine.ts";
import { thinOut } from "./own-files.ts";
import { toPublicError } from "../failures.ts";
import type { Op } from "../op.ts";

/** Returns a directory below the temporary root (`downloads`, `uploads`, …), or the root itself. */
export async function getTmpDir(op: Op, name = ""): Promise<string> {
  const { path } = await ensureTmpRoot(op.deps.paths.tmp);
  return join(path, name);
}

/** Rejects a path that must not be written, before the browser receives any command. */
export async function checkPath(op: Op, dir: string, path: string | undefined): Promise<void> {
  if (path === undefined) return;
  const probe = await openConfined(await getTmpDir(op, dir), path, op.deps.whyProtected);
  await probe.discard();
}

/** Creates a unique time stamp, such as `20261121-103000-1a2b3c`. */
function createTimestamp(): string {
  return `${new Date().toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15)}-${randomBytes(3).toString("hex")}`;
}

/** Writes a file under a generated name and returns its path. Rejects with a 507 `storage_full` if the disk is full. */
export async function storeFile(
  op: Op,
  dir: string,
  suffix: string,
  content: Buffer,
): Promise<string> {
  const root = await getTmpDir(op, dir);
  try {
    const path = await writeConfined(
      root,
      `${op.profile.name}-${createTimestamp()}.${suffix}`,
      content,
    );
    void thinOut(root).catch(() => {});
    return path;
  } catch (error) {
    throw toPublicError(error, "Writing the file");
  }
}
