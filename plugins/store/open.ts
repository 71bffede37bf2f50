/** Opens the store that `store.url` names. */
import { statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger, PorticoError } from "portico";
import { errors } from "./errors.ts";
import type { PoolOptions } from "./postgres/connection.ts";
import { type TlsSettings, withTls } from "./postgres/tls.ts";
import { createPostgresEngine } from "./postgres/engine.ts";
import type { Engine } from "./sql/engine.ts";
import { createSqliteEngine } from "./sqlite/engine.ts";
import { makePrivateDir } from "./private-files.ts";
import { createStore } from "./store.ts";
import type { Store } from "./types.ts";

export interface StoreOptions {
  /** `file:<absolute path>`, an absolute path, or `postgres://…`. */
  url: string;
  log: Logger;
  sharedBy?: Store["sharedBy"];
  /** Returns milliseconds since 1970, in place of the engine's clock; for tests. */
  clock?: () => number;
  /** Also opens an incomplete copy of another store, so that `portico store migrate` can continue it. */
  acceptsIncomplete?: boolean;
  /** The settings of the connections to PostgreSQL. */
  connections?: PoolOptions;
}

/** Creates a store, which opens at the first call or with `open()`. Throws `config_error` for an invalid URL. */
export function openStore(options: StoreOptions): Store {
  return createStore(openEngine(options), options.sharedBy);
}

/** Creates only the engine of a store. Throws like `openStore`. */
export function openEngine(options: StoreOptions): Engine {
  const { url, log, clock, acceptsIncomplete, connections, sharedBy = "nobody" } = options;
  if (isPostgres(url))
    return createPostgresEngine({ url, log, clock, acceptsIncomplete, connections });
  const file = parseFilePath(url);
  try {
    makePrivateDir(dirname(file));
  } catch (error) {
    throw urlError(
      `its directory cannot be created (${(error as NodeJS.ErrnoException).code ?? "no reason given"})`,
    );
  }
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw urlError("the address names a directory, not a file");
  // Opening a file makes it private, which would take a device from all other users.
  if (stats && !stats.isFile()) throw urlError("the address names a device or a pipe, not a file");
  const sharing = sharedBy === "nobody" ? "alone" : "shared";
  return createSqliteEngine({
    file,
    log,
    clock: clock ?? Date.now,
    acceptsIncomplete,
    sharing,
  });
}

export function isPostgres(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

/** Returns false only for a missing file, because opening it would create an empty store. */
export function storeExists(url: string): boolean {
  const isFile = /^file:|^\//.test(url);
  return !isFile || statSync(parseFilePath(url), { throwIfNoEntry: false }) !== undefined;
}

/** Returns the URL of a home's store. */
export function resolveUrl(config: Record<string, unknown>, stateDir: string): string {
  const { url, tls } = (config["store"] ?? {}) as { url?: string; tls?: TlsSettings };
  if (url === undefined) return `file:${join(stateDir, "portico.db")}`;
  return isPostgres(url) ? withTls(url, tls) : url;
}

/** Returns the path in an address of the embedded engine. Throws `config_error` if it is not absolute. */
export function parseFilePath(url: string): string {
  const path = url.startsWith("file://") ? parseFileUrl(url) : url.replace(/^file:/, "");
  if (isAbsolute(path)) return path;
  throw urlError("use file:<absolute path> or postgres://user:password@host:port/database");
}

function parseFileUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw urlError("use file:<absolute path> or postgres://user:password@host:port/database");
  }
}

function urlError(why: string): PorticoError {
  return errors.badUrl({ reason: why }, { param: "store.url" });
}
