/** `portico start` where `gateway.workers` is above 1: this process runs the workers, each of which is a gateway. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { CommandIO } from "../kernel/contract/commands.ts";
import { checkPort } from "./parse.ts";
import { openConfig } from "../kernel/config/config.ts";
import { envFileIn } from "../kernel/config/environment.ts";
import { ensureToken } from "../kernel/config/token.ts";
import { createHome, type PathOptions, resolvePaths } from "../kernel/files/paths.ts";
import { refuseOpenDoor } from "../kernel/gateway/checks.ts";
import { prettyLine } from "../kernel/log/pretty.ts";
import { handleSignals } from "./signals.ts";
import { WORKER_VARIABLE } from "../kernel/workers/messages.ts";

/** False where this process is to be the gateway itself. Otherwise it ends with the workers. */
export async function startWorkers(io: CommandIO): Promise<boolean> {
  const paths = resolvePaths(io.options as PathOptions, io.env);
  // nothing is evaluated twice where there is one process, which is the rule
  if (io.env[WORKER_VARIABLE] !== undefined || !mentionsWorkers(paths.config)) return false;
  const config = await openConfig({ file: paths.config, env: io.env, envFile: envFileIn(paths.home) });
  const { workers, port, bind, shutdownTimeoutMs } = config.kernel.gateway;
  const count = workers === "auto" ? availableParallelism() : workers;
  if (!Number.isInteger(count) || count < 2 || count > 64) return false;

  await createHome(paths);
  refuseOpenDoor(config.kernel.gateway);
  const { generated: tokenIsNew } = await ensureToken(config);
  const { runWorkers } = await import("../kernel/workers/primary.ts");
  const say = process.stdout.isTTY
    ? (line: string) => io.print(...prettyLine(line))
    : (line: string) => void process.stdout.write(line);
  const primary = await runWorkers({
    count,
    host: bind,
    port: checkPort(io.options["port"] as number | undefined) ?? port,
    tokenIsNew,
    stopMs: shutdownTimeoutMs,
    started: (banner) => io.print(banner),
    log: (msg) => say(`${JSON.stringify({ level: "warn", time: new Date().toISOString(), msg })}\n`),
  });
  const stop = (reason: string) => primary.stop(reason);
  const signalled = handleSignals(() => ({
    stop,
    rescan: () => primary.signal("SIGHUP"),
    cut: () => primary.signal("SIGKILL"),
  }));
  process.exit(await Promise.race([primary.ended, signalled]));
}

function mentionsWorkers(file: string): boolean {
  try {
    return readFileSync(file, "utf8").includes("workers");
  } catch {
    return false; // none, or none that can be read: the gateway says so
  }
}
