/** `portico start`: a gateway as this process, with its banner, its signals and its stray errors. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readRunning } from "./client.ts";
import type { CommandIO, ServePart } from "../kernel/contract/commands.ts";
import { columns } from "./help.ts";
import { checkPort } from "./parse.ts";
import { handleSignals } from "./signals.ts";
import { createPackageLoader } from "../kernel/package-loader.ts";
import { startGateway } from "../kernel/gateway/gateway.ts";
import type { Gateway } from "../kernel/gateway/types.ts";
import { asError } from "../kernel/errors.ts";
import { running } from "../kernel/owner.ts";
import { type PathOptions, resolvePaths } from "../kernel/files/paths.ts";
import { prettyLine } from "../kernel/log/pretty.ts";
import type { Paths } from "../kernel/types.ts";
import { joinWorkers, type WorkerLink } from "../kernel/workers/link.ts";

export async function serve(io: CommandIO, part: ServePart = {}): Promise<void> {
  const packageDir = dirname(import.meta.dirname);
  const { version } = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8")) as { version: string };
  const port = checkPort(part.port ?? (io.options["port"] as number | undefined));
  const paths = placesOf(resolvePaths(io.options as PathOptions, io.env), part);
  process.setSourceMapsEnabled(true);

  let gateway: Gateway | undefined;
  const link = part.only === undefined ? await joinWorkers(process.env) : undefined;
  catchStrayErrors(() => gateway, link);
  const ended = link ? endOf(link, () => gateway) : handleSignals(() => gateway && servingOf(gateway));
  gateway = await startGateway({
    paths,
    env: io.env,
    version,
    port,
    only: part.only,
    link,
    loader: createPackageLoader(packageDir, join(paths.state, "cache")),
    write: process.stdout.isTTY
      ? (line) => io.print(...prettyLine(line))
      : writeTogether(process.stdout, link !== undefined),
  });
  if (part.started === undefined) {
    if (link) link.ready(bannerOf(gateway), gateway.accept);
    else io.print(bannerOf(gateway));
    process.exit(await ended);
  }
  try {
    const never = new Promise<never>(() => {});
    process.exit(await Promise.race([ended, Promise.resolve(part.started(gateway)).then(() => never)]));
  } catch (error) {
    await gateway.stop("it could not begin its work");
    throw error;
  }
}

const servingOf = ({ stop, plugins, hooks }: Gateway) => ({
  stop,
  rescan() {
    void plugins.rescan();
    void hooks.rescan();
  },
});

/** The process that runs the workers decides when one ends: a Ctrl-C reaches them all. */
async function endOf(link: WorkerLink, gateway: () => Gateway | undefined): Promise<number> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
  process.on("SIGHUP", () => {
    const one = gateway();
    if (one) servingOf(one).rescan();
  });
  const reason = await new Promise<string>((resolve) => link.onStop(resolve));
  await gateway()?.stop(reason);
  return 0;
}

/** A part of a gateway keeps its files in its home: the temporary root belongs to the gateway of the machine. */
function placesOf(paths: Paths, part: ServePart): Paths {
  if (part.only === undefined) return paths;
  if (readRunning(paths.state) !== undefined) {
    throw new Error(`Another Portico runs from ${paths.home}: give this one a home of its own with --home DIR.`);
  }
  return { ...paths, tmp: join(paths.state, "tmp") };
}

/** What a pipe takes in one piece, whoever else writes to it. */
const PIPE_BYTES = 4096;

/** The lines of one turn of the event loop leave in one write: under load that is a tenth of the cost. */
function writeTogether(out: NodeJS.WriteStream, isShared: boolean): (line: string) => void {
  let lines = "";
  const flush = () => {
    const all = lines;
    lines = "";
    out.write(all);
  };
  return (line) => {
    // lines of several workers must not run into each other
    if (isShared && lines !== "" && Buffer.byteLength(lines) + Buffer.byteLength(line) > PIPE_BYTES) flush();
    if (lines === "") setImmediate(() => lines !== "" && flush());
    lines += line;
  };
}

function bannerOf(gateway: Gateway): string {
  const token = gateway.tokenIsNew ? gateway.token : "<your token>";
  const shown = gateway.tokenIsNew
    ? `${gateway.token} (made at this start; kept in the configuration)`
    : "as configured";
  const at = { url: gateway.url, token: token ?? "" };
  const parts = gateway.banners();
  const rowsOf = (some: typeof parts) => some.flatMap((part) => part.rows?.(at) ?? []);
  // what can be pasted stands with the address and the token that it takes; all else comes after
  const rows = [...rowsOf(parts.filter(({ example }) => example)), ["Token", shown] as const];
  const examples = parts.flatMap((part) => part.example?.(at) ?? []);
  const more = rowsOf(parts.filter(({ example }) => !example));
  const blocks = [["Portico is running.", ...columns(rows), ""]];
  if (examples.length > 0) blocks.push(["Try it:", ...examples.map((line) => `  ${line}`), ""]);
  if (more.length > 0) blocks.push([...columns(more), ""]);
  return blocks.map((block) => block.join("\n")).join("\n");
}

/** An error that belongs to an extension harms nobody else; one of the gateway's own ends it, since its state is unknown. */
function catchStrayErrors(gateway: () => Gateway | undefined, link?: WorkerLink): void {
  const handle = (kind: string) => (thrown: unknown) => {
    const one = gateway();
    const owner = running()?.owner;
    const error = asError(thrown);
    if (!one) {
      process.stderr.write(`portico: ${error.stack}\n`);
      process.exit(1);
    }
    one.log.log.error({ err: error, owner }, `${kind}${owner ? ` of ${owner}` : ""}`);
    if (owner) return void one.hooks.strayError(owner, error);
    if (kind === "unhandled rejection") return;
    link?.leave();
    void one.stop(kind).finally(() => process.exit(1));
  };
  process.on("uncaughtException", handle("uncaught exception"));
  process.on("unhandledRejection", handle("unhandled rejection"));
}
