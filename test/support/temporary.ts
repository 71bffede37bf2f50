/** Temporary directories for tests. They are removed when the process ends, even if a test fails. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const directories: string[] = [];
process.on("exit", () => {
  for (const dir of directories)
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
});

export function temporaryDir(prefix = "portico-test-"): string {
  const dir = mkdtempSync(join(tmpdir(), prefix));
  directories.push(dir);
  return dir;
}
