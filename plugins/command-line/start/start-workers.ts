/** `portico start` where `gateway.workers` is above 1: this process runs the workers, each of which is a gateway. */
import type { HomeOptions, Program } from "portico";
import { runWorkers, WORKER_VARIABLE } from "portico/workers";
import type { CommandIO } from "../command.ts";
import { handleSignals } from "./signals.ts";

/** Returns where this process is to be the gateway itself. Otherwise it ends with the workers. */
export async function startWorkers(
  program: Program,
  io: CommandIO,
  place: HomeOptions,
  wantedPort: number | undefined,
): Promise<void> {
  const setup =
    program.env[WORKER_VARIABLE] === undefined ? await program.workers(place) : undefined;
  if (!setup) return;
  const { count, settings } = setup;
  const tokenIsNew = await setup.prepare();
  const say = process.stdout.isTTY
    ? io.printLog
    : (line: string) => void process.stdout.write(line);
  const primary = await runWorkers({
    count,
    host: settings.bind,
    port: wantedPort ?? settings.port,
    tokenIsNew,
    stopMs: settings.shutdownTimeoutMs,
    started: (banner) => io.print(banner),
    log: (msg) =>
      say(`${JSON.stringify({ level: "warn", time: new Date().toISOString(), msg })}\n`),
  });
  const stop = (reason: string) => primary.stop(reason);
  const signalled = handleSignals(() => ({
    stop,
    rescan: () => primary.signal("SIGHUP"),
    cut: () => primary.signal("SIGKILL"),
  }));
  process.exit(await Promise.race([primary.ended, signalled]));
}
