/** `portico store migrate`: copies the state of one engine to another, while no gateway runs. */
import { isPorticoError, type Logger, PorticoError } from "portico";
import type { CommandIO } from "portico/command-line";
import { errors } from "./errors.ts";
import { isPostgres, openEngine, storeExists, resolveUrl } from "./open.ts";
import { LISTENING } from "./postgres/notifications.ts";
import type { Engine } from "./sql/engine.ts";
import { first } from "./sql/query.ts";
import { describeProblem } from "./sqlite/failures.ts";
import { isEmpty, transfer } from "./transfer/transfer.ts";

export async function migrate(io: CommandIO): Promise<void> {
  const to = io.options["to"];
  const from = io.options["from"] ?? (await readOwnUrl(io));
  if (typeof to !== "string" || typeof from !== "string")
    throw moveError("the target is missing. Pass --to URL");
  if (to === from) throw moveError("the source and the target are the same");
  const home = io.home();
  if (home.running()) throw moveError(`a gateway runs from ${home.paths.home}. Stop it first`);
  const engines: Engine[] = [];
  const open = async (url: string, option: "--from" | "--to"): Promise<Engine> => {
    try {
      if (option === "--from" && !storeExists(url)) throw moveError(`there is no store at ${url}`);
      const engine = openEngine({ url, log: silent, acceptsIncomplete: option === "--to" });
      engines.push(engine);
      await engine.open();
      return withOptionErrors(engine, option);
    } catch (error) {
      throw toOptionError(error, option);
    }
  };
  try {
    const source = await open(from, "--from");
    if (await isUsed(source, from)) throw moveError("a gateway uses the source. Stop it first");
    if (await isEmpty(source))
      throw moveError("the source is empty. Check that --from names the right store");
    if (!isPostgres(from)) await refuseDamaged(io, source);
    const target = await open(to, "--to");
    if (await isUsed(target, to)) throw moveError("a gateway uses the target. Stop it first");
    const sums = await transfer(source, target, {
      from,
      onProgress: ({ table, rows }) => io.progress(`${table}: ${rows} rows`),
      async confirm() {
        if (await isUsed(source, from))
          throw moveError(
            "a gateway has started on the source in the meantime. Stop it, and run the command again",
          );
      },
    });
    io.show(sums, (tableSums) => [
      ...Object.entries(tableSums).map(
        ([table, { rows }]) => `${table}: ${rows} rows, identical in source and copy`,
      ),
      "The copy is complete. Set store.url to the new address and start the gateway.",
    ]);
  } finally {
    await Promise.allSettled(engines.map((engine) => engine.close()));
  }
}

/** Throws if the source is damaged, because a copy of it might lack records. */
async function refuseDamaged(io: CommandIO, source: Engine): Promise<void> {
  io.progress("checking the source …");
  const [problem, ...more] = await source.check();
  if (problem === undefined) return;
  const others = more.length > 0 ? ` (and ${more.length} more)` : "";
  throw moveError(
    `the source is damaged (${problem}${others}). Pass an undamaged copy with --from`,
  );
}

/** Returns whether another process uses the store, whose writes in the meantime would be lost. */
async function isUsed(engine: Engine, url: string): Promise<boolean> {
  if (!isPostgres(url)) return !engine.inSoleUse();
  const listening = await engine.read(() => first<{ n: number }>(LISTENING));
  return (listening?.n ?? 0) > 1; // this process is one of them
}

async function readOwnUrl(io: CommandIO): Promise<string> {
  const { current } = await io.home().config();
  return resolveUrl(current, io.home().paths.state);
}

function withOptionErrors(engine: Engine, option: string): Engine {
  const reject = (error: unknown) => Promise.reject(toOptionError(error, option));
  return {
    ...engine,
    read: (operation, name) => engine.read(operation, name).catch(reject),
    write: (write) => engine.write(write).catch(reject),
    check: () => engine.check().catch(reject),
    finishCopy: () => engine.finishCopy().catch(reject),
  };
}

/** Returns an error that names the option of the address which it is about, instead of the configuration key. */
function toOptionError(error: unknown, option: string): unknown {
  if (isPorticoError(error) && error.param === "store.url")
    return new PorticoError(error.code, error.message.replace("store.url", option), {
      param: option,
      cause: error,
    });
  const { code = "", message, cause } = error as NodeJS.ErrnoException;
  const isUnavailable = code === "store_unavailable";
  if (!isUnavailable && !/^E[A-Z]+$/.test(code)) return error;
  const problem = isUnavailable ? (describeProblem(cause)?.problem ?? message) : code;
  return errors.moveFailed({ option, problem }, { cause: error });
}

function moveError(why: string): PorticoError {
  return errors.notMoved({ reason: why });
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
