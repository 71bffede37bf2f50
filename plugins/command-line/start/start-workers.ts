/** `portico start` with `gateway.workers` above 1: this process starts the workers, each of which is a gateway. */
import type { HomeOptions, Program } from "portico";
import { runWorkers, WORKER_VARIABLE } from "portico/workers";
import type { CommandIO } from "../command.ts";
import { handleSignals } from "./signals.ts";

/** Returns if this process must be the gateway itself. Otherwise runs the workers, and exits the process when they end. */
export async function startWorkers(
  program: Program,
  io: CommandIO,
  place: HomeOptions,
  requestedPort: number | undefined,
): Promise<void> {
  const setup =
    program.env[WORKER_VARIABLE] === undefined ? await program.workers(place) : undefined;
  if (!setup) return;
  const { count, settings } = setup;
  const tokenIsNew = await setup.prepare();
  const printLog = process.stdout.isTTY
    ? io.printLog
    : (line: string) => void process.stdout.write(line);
  const primary = await runWorkers({
    count,
    host: settings.bind,
    port: requestedPort ?? settings.port,
    tokenIsNew,
    stopMs: settings.shutdownTimeoutMs,
    started: (banner) => io.print(banner),
    log: (msg) =>
      printLog(`${JSON.stringify({ level: "warn", time: new Date().toISOString(), msg })}\n`),
  });
  const stop = (reason: string) => primary.stop(reason);
  const exitCode = handleSignals(() => ({
    stop,
    rescan: () => primary.signal("SIGHUP"),
    beforeExit: () => primary.signal("SIGKILL"),
  }));
  process.exit(await Promise.race([primary.ended, exitCode]));
}
