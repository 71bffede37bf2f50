/** What the process that runs the workers needs of their home: it loads no gateway. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { openConfig } from "../config/config.ts";
import { type Environment, envFileIn } from "../config/environment.ts";
import { ensureToken } from "../config/token.ts";
import { createHome, type HomeOptions, resolvePaths } from "../files/paths.ts";
import { refuseOpenDoor } from "../gateway/checks.ts";

export interface WorkersSetup {
  count: number;
  host: string;
  port: number;
  /** How long a stop may take. */
  stopMs: number;
  /** Makes the home and, where there is none, its token: true then. Throws where the door would stand open. */
  prepare(): Promise<boolean>;
}

/** How many processes the home's gateway is to be; undefined for one. */
export async function workersOf(options: HomeOptions, env: Environment): Promise<WorkersSetup | undefined> {
  const paths = resolvePaths(options, env);
  // nothing is evaluated twice where there is one process, which is the rule
  if (!mentionsWorkers(paths.config)) return undefined;
  const config = await openConfig({ file: paths.config, env, envFile: envFileIn(paths.home) });
  const { workers, port, bind, shutdownTimeoutMs } = config.kernel.gateway;
  const count = workers === "auto" ? availableParallelism() : workers;
  if (!Number.isInteger(count) || count < 2 || count > 64) return undefined;
  return {
    count,
    host: bind,
    port,
    stopMs: shutdownTimeoutMs,
    async prepare() {
      await createHome(paths);
      refuseOpenDoor(config.kernel.gateway);
      return (await ensureToken(config)).generated;
    },
  };
}

function mentionsWorkers(file: string): boolean {
  try {
    return readFileSync(file, "utf8").includes("workers");
  } catch {
    return false; // none, or none that can be read: the gateway says so
  }
}
