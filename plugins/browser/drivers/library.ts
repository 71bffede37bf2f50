/** Detects whether the automation library is installed. */
import { createRequire } from "node:module";
import { join } from "node:path";

/** True unless the library was omitted from the installation (or a test says so). Does not load it. */
export function hasLibrary(packageDir: string, env: NodeJS.ProcessEnv): boolean {
  if (env["PORTICO_BROWSER_LIBRARY"] === "absent") return false;
  try {
    return createRequire(join(packageDir, "package.json")).resolve("playwright-core") !== "";
  } catch {
    return false;
  }
}
