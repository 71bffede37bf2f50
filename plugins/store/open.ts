/** Opens the store that `store.url` names. */
import { statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger, PorticoError } from "portico";
import { errors } from "./errors.ts";
import type { PoolOptions } from "./postgres/connection.ts";
import { type TlsSettings, withTls } from "./postgres/tls.ts";
import { postgresEngine } from "./postgres/engine.ts";
import type { Engine } from "./sql/engine.ts";
import { sqliteEngine } from "./sqlite/engine.ts";
import { makePrivateDir } from "./private-files.ts";
import { createStore } from "./store.ts";
import type { Store } from "./types.ts";

export interface StoreOptions {
  /** `file:<absolute path>`, an absolute path, or `postgres://…`. */
  url: string;
  log: Logger;
  sharedBy?: Store["sharedBy"];
  /** Milliseconds since 1970, in the place of the engine's own; for tests. */
  clock?: () => number;
  /** Also opens what is only a part of another store: for the command that moves the rest. */
  isPart?: boolean;
  /** Of PostgreSQL. */
  connections?: PoolOptions;
}

/** Cheap: nothing is opened before the first call (or `open()`). Throws `config_error` for a URL that cannot be right. */
export function openStore(options: StoreOptions): Store {
  return createStore(openEngine(options), options.sharedBy);
}

/** The same without the store's own calls. */
export function openEngine(options: StoreOptions): Engine {
  const { url, log, clock, isPart, connections, sharedBy = "nobody" } = options;
  if (isPostgres(url)) return postgresEngine({ url, log, clock, isPart, connections });
  const file = fileOf(url);
  try {
    makePrivateDir(dirname(file));
  } catch (error) {
    throw wrongUrl(
      `its directory cannot be created (${(error as NodeJS.ErrnoException).code ?? "no reason given"})`,
    );
  }
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw wrongUrl("the address names a directory, not a file");
  // made private, a device would be lost to everybody else
  if (stats && !stats.isFile()) throw wrongUrl("the address names a device or a pipe, not a file");
  const sharing = sharedBy === "nobody" ? "alone" : "shared";
  return sqliteEngine({
    file,
    log,
    clock: clock ?? Date.now,
    isPart,
    sharing,
  });
}

export function isPostgres(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

/** False only for a file that is not there: opening it would make an empty store. */
export function storeExists(url: string): boolean {
  const isFile = /^file:|^\//.test(url);
  return !isFile || statSync(fileOf(url), { throwIfNoEntry: false }) !== undefined;
}

/** Where a home's store is. */
export function urlOf(config: Record<string, unknown>, stateDir: string): string {
  const { url, tls } = (config["store"] ?? {}) as { url?: string; tls?: TlsSettings };
  if (url === undefined) return `file:${join(stateDir, "portico.db")}`;
  return isPostgres(url) ? withTls(url, tls) : url;
}

/** The path in an address of the embedded engine. */
export function fileOf(url: string): string {
  const path = url.startsWith("file://") ? pathOf(url) : url.replace(/^file:/, "");
  if (isAbsolute(path)) return path;
  throw wrongUrl("use file:<absolute path> or postgres://user:password@host:port/database");
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw wrongUrl("use file:<absolute path> or postgres://user:password@host:port/database");
  }
}

function wrongUrl(why: string): PorticoError {
  return errors.badUrl({ reason: why }, { param: "store.url" });
}
