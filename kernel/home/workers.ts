/** What the process that runs the workers needs of their home: it loads no gateway. */
import { availableParallelism } from "node:os";
import { openConfig } from "../config/config.ts";
import { type Environment, envFileIn } from "../config/environment.ts";
import { mentions } from "../config/read.ts";
import type { KernelConfig } from "../config/schema.ts";
import { ensureToken } from "../config/token.ts";
import { createHome, type HomeOptions, resolvePaths } from "../files/paths.ts";

export interface WorkersSetup {
  count: number;
  settings: KernelConfig["gateway"];
  /** Makes the home and, where there is none, its token: true then. Throws where the door would stand open. */
  prepare(): Promise<boolean>;
}

/** How many processes the home's gateway is to be; undefined for one. */
export async function workersOf(
  options: HomeOptions,
  env: Environment,
): Promise<WorkersSetup | undefined> {
  const paths = resolvePaths(options, env);
  // Usually there is one process, and it evaluates the configuration itself; it also reports a file that cannot be read.
  if (!mentions(paths.config, "workers", false)) return undefined;
  const config = await openConfig({ file: paths.config, env, envFile: envFileIn(paths.home) });
  const settings = config.kernel.gateway;
  const count = settings.workers === "auto" ? availableParallelism() : settings.workers;
  if (!Number.isInteger(count) || count < 2 || count > 64) return undefined;
  return {
    count,
    settings,
    async prepare() {
      await createHome(paths);
      config.section("gateway"); // throws for what is wrong with it
      return ensureToken(config);
    },
  };
}
