/** `portico store migrate`: one engine's state to another, while no gateway runs. */
import { isPorticoError, type Logger, PorticoError } from "portico";
import type { CommandIO } from "portico/command-line";
import { isPostgres, openEngine, storeExists, urlOf } from "../open.ts";
import { LISTENING } from "../postgres/notifications.ts";
import type { Engine } from "../sql/engine.ts";
import { first } from "../sql/query.ts";
import { isEmpty, transfer } from "./transfer.ts";

export async function migrate(io: CommandIO): Promise<void> {
  const to = io.options["to"];
  const from = io.options["from"] ?? (await ownUrl(io));
  if (typeof to !== "string" || typeof from !== "string") throw wrong("say where to: --to URL");
  if (to === from) throw wrong("the source and the target are the same");
  const home = io.home();
  if (home.running()) throw wrong(`a gateway runs from ${home.paths.home}: stop it first`);
  const engines: Engine[] = [];
  /** An address that is no good is that of the option, not of the configuration. */
  const open = async (url: string, option: string): Promise<Engine> => {
    try {
      if (url === from && !storeExists(url)) throw wrong(`there is none at ${url}`);
      const engine = openEngine({ url, log: silent });
      engines.push(engine);
      await engine.open();
      return engine;
    } catch (error) {
      if (isPorticoError(error) && error.param === "store.url")
        throw new PorticoError(error.code, error.message.replace("store.url", option), { param: option, cause: error });
      throw error;
    }
  };
  try {
    const source = await open(from, "--from");
    if (await isUsed(source, from)) throw wrong("a gateway uses the source: stop it first");
    if (await isEmpty(source)) throw wrong("there is nothing in the source: does --from name the right one?");
    const target = await open(to, "--to");
    const sums = await transfer(source, target, from, ({ table, rows }) => io.progress(`${table}: ${rows} rows`));
    io.show(sums, (shown) => [
      ...Object.entries(shown).map(([table, { rows }]) => `${table}: ${rows} rows, the same on both sides`),
      "All is there. Set store.url to the new address and start the gateway.",
    ]);
  } finally {
    await Promise.allSettled(engines.map((engine) => engine.close()));
  }
}

/** By another process: what it wrote meanwhile would be lost. */
async function isUsed(engine: Engine, url: string): Promise<boolean> {
  if (!isPostgres(url)) return !engine.inSoleUse();
  const listening = await engine.read(() => first<{ n: number }>(LISTENING));
  return (listening?.n ?? 0) > 1; // one is ourselves
}

async function ownUrl(io: CommandIO): Promise<string> {
  const { current } = await io.home().config();
  return urlOf(current, io.home().paths.state);
}

function wrong(why: string): PorticoError {
  return new PorticoError("invalid_request_error", `The store is not moved: ${why}.`);
}

const ignore = (): void => {};
const silent: Logger = {
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  fatal: ignore,
  child: () => silent,
};
