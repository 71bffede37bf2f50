/** Where files of ours are put: under the temporary root, under names of ours or confined ones of the caller. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { ensureTmpRoot, openConfined, writeConfined } from "./confine.ts";
import { thinOut } from "./own-files.ts";
import { failure } from "../failures.ts";
import type { Op } from "../op.ts";

/** A directory below the temporary root (`downloads`, `uploads`, …), or the root itself. */
export async function tmpDir(op: Op, name = ""): Promise<string> {
  const { path } = await ensureTmpRoot(op.deps.paths.tmp);
  return join(path, name);
}

/** Refuses a path that nothing may be written to, before anything is asked of the browser. */
export async function checkPath(op: Op, dir: string, path: string | undefined): Promise<void> {
  if (path === undefined) return;
  const probe = await openConfined(await tmpDir(op, dir), path, op.deps.whyProtected);
  await probe.discard();
}

/** `20261121-103000-1a2b` */
function stamp(): string {
  return `${new Date().toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15)}-${randomBytes(3).toString("hex")}`;
}

/** Writes a file of ours and answers its path. A full disk is 507 `storage_full`. */
export async function keepFile(
  op: Op,
  dir: string,
  suffix: string,
  content: Buffer,
): Promise<string> {
  const root = await tmpDir(op, dir);
  try {
    const path = await writeConfined(root, `${op.profile.name}-${stamp()}.${suffix}`, content);
    void thinOut(root).catch(() => {});
    return path;
  } catch (error) {
    throw failure(error, "Writing the file");
  }
}
