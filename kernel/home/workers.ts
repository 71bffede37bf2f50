/** Prepares the home of several workers, for the process that runs them and that loads no gateway itself. */
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
  /**
   * Creates the home and, if there is none, its token, and returns whether it created one. Throws if the gateway would
   * be open without credentials.
   */
  prepare(): Promise<boolean>;
}

/** Returns the set-up of a gateway with several processes; undefined for one. */
export async function readWorkersSetup(
  options: HomeOptions,
  env: Environment,
): Promise<WorkersSetup | undefined> {
  const paths = resolvePaths(options, env);
  // Usually there is one process, which evaluates the configuration itself and also reports a file that cannot be read.
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
      config.section("gateway"); // throws if the section is invalid
      return ensureToken(config);
    },
  };
}
