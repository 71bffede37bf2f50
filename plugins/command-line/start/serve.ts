/** Runs a gateway in this process: prints its banner, and handles signals and stray errors. */
import type { HomeOptions, Program, StartedGateway } from "portico";
import { joinWorkers, type ProcessLink } from "portico/workers";
import type { CommandIO, ServePart } from "../command.ts";
import { checkPort } from "../parse.ts";
import { createBanner } from "./banner.ts";
import { handleSignals } from "./signals.ts";
import { startWorkers } from "./start-workers.ts";

/** Runs a gateway until it is stopped, then exits the process. Does not return. */
export async function serve(
  program: Program,
  io: CommandIO,
  place: HomeOptions,
  part: ServePart,
): Promise<void> {
  const { only } = part;
  const port = checkPort(part.port ?? (io.options["port"] as number | undefined));
  if (only === undefined) await startWorkers(program, io, place, port);

  let gateway: StartedGateway | undefined;
  const link = only === undefined ? await joinWorkers(process.env) : undefined;
  catchStrayErrors(program, () => gateway, link);
  guardProcessExit(program);
  const exitCode = link ? stopWithPrimary(link, () => gateway) : handleSignals(() => gateway);
  const write = process.stdout.isTTY
    ? io.printLog
    : createBatchedWriter(process.stdout, link !== undefined);
  try {
    gateway = await program.start({ ...place, only, port, link, write });
  } catch (error) {
    link?.end();
    throw error;
  }
  if (part.started === undefined) {
    if (link) link.ready(createBanner(gateway), gateway.accept);
    else io.print(createBanner(gateway));
    process.exit(await exitCode);
  }
  try {
    const pending = new Promise<never>(() => {});
    process.exit(
      await Promise.race([exitCode, Promise.resolve(part.started(gateway)).then(() => pending)]),
    );
  } catch (error) {
    await gateway.stop("it could not start");
    throw error;
  }
}

/**
 * Stops the gateway of a worker when the primary process asks for it. A worker ignores signals, because Ctrl-C reaches all
 * processes.
 */
async function stopWithPrimary(
  link: ProcessLink,
  gateway: () => StartedGateway | undefined,
): Promise<number> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
  process.on("SIGHUP", () => gateway()?.rescan());
  const reason = await new Promise<string>((resolve) => link.onStop(resolve));
  await gateway()?.stop(reason);
  return 0;
}

/** A pipe accepts writes of up to this size atomically, so that lines of several processes do not mix. */
const PIPE_BYTES = 4096;

/** The delay for which lines are collected. Each write wakes the reader, which costs as much as a small request. */
const DELAY_MS = 20;

function createBatchedWriter(out: NodeJS.WriteStream, isShared: boolean): (line: string) => void {
  let lines = "";
  const flush = () => {
    if (lines === "") return;
    const batch = lines;
    lines = "";
    out.write(batch);
  };
  process.on("exit", flush);
  return (line) => {
    // a larger write would not be atomic
    if (isShared && Buffer.byteLength(lines) + Buffer.byteLength(line) > PIPE_BYTES) flush();
    if (lines === "") setTimeout(flush, DELAY_MS).unref();
    lines += line;
  };
}

/**
 * Handles uncaught errors. An extension's error is only reported; the gateway's own stops the process, because its state is
 * unknown.
 */
function catchStrayErrors(
  { owner }: Program,
  gateway: () => StartedGateway | undefined,
  link?: ProcessLink,
): void {
  const createHandler = (kind: string) => (thrown: unknown) => {
    const running = gateway();
    if (!running) {
      reportBeforeStart(kind, thrown, owner());
      return;
    }
    if (running.strayError(kind, thrown) || kind === "unhandled rejection") return;
    link?.leave();
    void running.stop(kind).finally(() => process.exit(1));
  };
  process.on("uncaughtException", createHandler("uncaught exception"));
  process.on("unhandledRejection", createHandler("unhandled rejection"));
}

/** Reports an error before the gateway has started. Exits the process unless the error belongs to an extension. */
function reportBeforeStart(kind: string, thrown: unknown, extension: string | undefined): void {
  const source = extension === undefined ? "" : `${kind} of ${extension}: `;
  process.stderr.write(`portico: ${source}${describe(thrown)}\n`);
  if (extension === undefined) process.exit(1);
}

function describe(thrown: unknown): string {
  try {
    return String((thrown instanceof Error && thrown.stack) || thrown);
  } catch {
    return "a value that cannot be shown";
  }
}

/** Makes `process.exit` throw in an extension, because it would abort the requests of all clients. */
function guardProcessExit({ owner }: Program): void {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    const extension = owner();
    if (extension === undefined) return exit(code);
    throw new Error(
      `${extension} called process.exit, which would end the gateway. Return or throw instead.`,
    );
  };
}
