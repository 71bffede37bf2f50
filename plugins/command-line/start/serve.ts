/** `portico start`: a gateway as this process, with its banner, its signals and its stray errors. */
import type { HomeOptions, Program, StartedGateway } from "portico";
import { joinWorkers, type ProcessLink } from "portico/workers";
import type { CommandIO, ServePart } from "../command.ts";
import { checkPort } from "../parse.ts";
import { bannerOf } from "./banner.ts";
import { handleSignals } from "./signals.ts";
import { startWorkers } from "./start-workers.ts";

/** Does not return. */
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
  refuseExit(program);
  const ended = link ? endOf(link, () => gateway) : handleSignals(() => gateway);
  const write = process.stdout.isTTY
    ? io.printLog
    : writeTogether(process.stdout, link !== undefined);
  try {
    gateway = await program.start({ ...place, only, port, link, write });
  } catch (error) {
    link?.end();
    throw error;
  }
  if (part.started === undefined) {
    if (link) link.ready(bannerOf(gateway), gateway.accept);
    else io.print(bannerOf(gateway));
    process.exit(await ended);
  }
  try {
    const never = new Promise<never>(() => {});
    process.exit(
      await Promise.race([ended, Promise.resolve(part.started(gateway)).then(() => never)]),
    );
  } catch (error) {
    await gateway.stop("it could not start");
    throw error;
  }
}

/** The process that runs the workers decides when one ends: a Ctrl-C reaches them all. */
async function endOf(
  link: ProcessLink,
  gateway: () => StartedGateway | undefined,
): Promise<number> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
  process.on("SIGHUP", () => gateway()?.rescan());
  const reason = await new Promise<string>((resolve) => link.onStop(resolve));
  await gateway()?.stop(reason);
  return 0;
}

/** A pipe takes writes of up to this size in one piece, so that lines of several processes do not mix. */
const PIPE_BYTES = 4096;

/** Lines may wait this long for others: each write wakes the reader, which costs as much as a small request. */
const DELAY_MS = 20;

function writeTogether(out: NodeJS.WriteStream, isShared: boolean): (line: string) => void {
  let lines = "";
  const flush = () => {
    if (lines === "") return;
    const all = lines;
    lines = "";
    out.write(all);
  };
  process.on("exit", flush);
  return (line) => {
    // lines of several workers must not run into each other
    if (isShared && Buffer.byteLength(lines) + Buffer.byteLength(line) > PIPE_BYTES) flush();
    if (lines === "") setTimeout(flush, DELAY_MS).unref();
    lines += line;
  };
}

/** An error that belongs to an extension harms nobody else; one of the gateway's own ends it, since its state is unknown. */
function catchStrayErrors(
  { owner }: Program,
  gateway: () => StartedGateway | undefined,
  link?: ProcessLink,
): void {
  const handle = (kind: string) => (thrown: unknown) => {
    const one = gateway();
    if (!one) {
      reportBeforeStart(kind, thrown, owner());
      return;
    }
    if (one.strayError(kind, thrown) || kind === "unhandled rejection") return;
    link?.leave();
    void one.stop(kind).finally(() => process.exit(1));
  };
  process.on("uncaughtException", handle("uncaught exception"));
  process.on("unhandledRejection", handle("unhandled rejection"));
}

/** Ends the process, unless the error belongs to an extension. */
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

/** An extension that ends the process would take everybody's requests along: its call fails instead, as its own error. */
function refuseExit({ owner }: Program): void {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    const whose = owner();
    if (whose === undefined) return exit(code);
    throw new Error(
      `${whose} called process.exit, which would end the gateway. Return or throw instead.`,
    );
  };
}
