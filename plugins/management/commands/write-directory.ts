import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * Creates a directory with its files in one rename, so that a gateway that watches never reads a part of it. Throws if it
 * exists.
 */
export function writeDirectory(dir: string, files: Readonly<Record<string, string>>): void {
  if (existsSync(dir))
    throw new Error(`${dir} already exists. Choose another name, or remove it first.`);
  mkdirSync(dirname(dir), { recursive: true, mode: 0o700 });
  const temporary = mkdtempSync(join(dirname(dir), `.${basename(dir)}-`));
  try {
    for (const [file, text] of Object.entries(files))
      writeFileSync(join(temporary, file), text, { mode: 0o600 });
    renameSync(temporary, dir);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    throw error;
  }
}
