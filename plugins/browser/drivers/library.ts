/** Whether the automation library is installed. */
import { createRequire } from "node:module";
import { join } from "node:path";

/** It is there unless it was left out of the installation (or a test says so); this does not load it. */
export function hasLibrary(packageDir: string, env: NodeJS.ProcessEnv): boolean {
  if (env["PORTICO_BROWSER_LIBRARY"] === "absent") return false;
  try {
    return createRequire(join(packageDir, "package.json")).resolve("playwright-core") !== "";
  } catch {
    return false;
  }
}
