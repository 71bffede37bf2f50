/** Where files of ours are put: under the temporary root, under names of ours or confined ones of the caller. */
import { randomBytes } from "node:crypto";
import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ensureTmpRoot, writeConfined } from "portico";
import { failure } from "../failures.ts";
import type { Op } from "./op.ts";

/** Screenshots and PDFs that nobody named are kept up to this many. */
const KEPT = 200;

/** A directory below the temporary root (`downloads`, `uploads`, …), or the root itself. */
export async function tmpDir(op: Op, name = ""): Promise<string> {
  const { path } = await ensureTmpRoot(op.parts.paths.tmp);
  return join(path, name);
}

/** `20261121-103000-1a2b` */
function stamp(): string {
  return `${new Date().toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15)}-${randomBytes(3).toString("hex")}`;
}

/** Writes a file of ours and answers its path. A full disk is 503 `storage_full`. */
export async function keepFile(op: Op, dir: string, suffix: string, content: Buffer): Promise<string> {
  const root = await tmpDir(op, dir);
  try {
    const path = await writeConfined(root, `${op.profile.name}-${stamp()}.${suffix}`, content);
    void thinOut(root).catch(() => {});
    return path;
  } catch (error) {
    throw failure(error, "Writing the file");
  }
}

async function thinOut(root: string): Promise<void> {
  const names = await readdir(root);
  if (names.length <= KEPT) return;
  const files = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(root, name))).mtimeMs })));
  files.sort((a, b) => a.at - b.at);
  await Promise.all(files.slice(0, files.length - KEPT).map(({ name }) => unlink(join(root, name)).catch(() => {})));
}
