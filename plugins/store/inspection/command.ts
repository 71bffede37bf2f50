/** `portico store check`: asks the running gateway, or checks the store directly if none runs or STORE names another one. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { CommandIO } from "portico/command-line";
import { parseFilePath, isPostgres, resolveUrl } from "../open.ts";
import { formatSize } from "./size-text.ts";
import { inspect } from "../inspect.ts";
import { type Inspection, RESTORE } from "./inspection.ts";

export async function check(io: CommandIO): Promise<void> {
  const place = io.args["store"];
  if (place !== undefined) return checkDirectly(io, place, parseStoreArgument(io, place));
  const home = io.home();
  if (io.options["url"] !== undefined || io.env["PORTICO_URL"] !== undefined || home.running())
    return checkByGateway(io);
  const url = resolveUrl((await home.config()).current, home.paths.state);
  const name = isPostgres(url) ? "store.url" : parseFilePath(url);
  if (!isPostgres(url) && !existsSync(name))
    throw new Error(`${name} does not exist yet. The first start creates it.`);
  return checkDirectly(io, name, url);
}

/** Returns the URL of STORE: an address, or the absolute path of a file. */
function parseStoreArgument({ cwd }: CommandIO, place: string): string {
  if (isPostgres(place) || place.startsWith("file:")) return place;
  // The error does not repeat the address, because it may contain a password.
  if (/^\w+:\/\//.test(place))
    throw new Error("STORE is a file, or postgres://user:password@host:port/database.");
  return resolve(cwd, place);
}

async function checkByGateway(io: CommandIO): Promise<void> {
  io.progress("checking …");
  const timeoutMs = 600_000;
  const inspection = await io.gateway.request<Inspection>("POST", "/store/check", undefined, {
    timeoutMs,
  });
  io.show(inspection, ({ problems }) => (problems.length === 0 ? "The store is sound." : problems));
  throwProblems("The store", { ...inspection, remedy: RESTORE });
}

async function checkDirectly(io: CommandIO, place: string, url: string): Promise<void> {
  // An address may contain a password.
  const name = isPostgres(url) ? "The database" : place;
  io.progress(`checking ${isPostgres(url) ? "the database" : place} …`);
  const inspection = await inspect(url);
  io.show({ ok: inspection.problems.length === 0, ...inspection }, () =>
    inspection.problems.length === 0
      ? `${name} is sound: ${describe(inspection)}.`
      : inspection.problems,
  );
  throwProblems(name, inspection);
}

function throwProblems(
  name: string,
  { problems, remedy }: Pick<Inspection, "problems" | "remedy">,
): void {
  if (problems.length === 0) return;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  throw new Error(`${name}: ${problems[0]}${more}.${remedy === undefined ? "" : ` ${remedy}`}`);
}

function describe({ bytes = 0, schemaVersion, rows }: Inspection): string {
  const tables = Object.entries(rows).filter(([table]) => table !== "counters");
  const counts = tables.map(([table, n]) => `${table} ${n}`);
  return `${formatSize(bytes)}, schema ${schemaVersion}, ${counts.length > 0 ? counts.join(", ") : "nothing in it"}`;
}
