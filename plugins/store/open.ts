/** Opens the store that `store.url` names. */
import { mkdirSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import { type Logger, PorticoError } from "portico";
import { sqliteEngine } from "./sqlite/engine.ts";
import { createStore } from "./store.ts";
import type { Store } from "./types.ts";

export interface StoreOptions {
  /** `file:<path>` or a plain absolute path. */
  url: string;
  log: Logger;
  /** Milliseconds since 1970; tests hand in their own. */
  clock?: () => number;
}

/** Cheap: nothing is opened before the first call (or `open()`). Throws `invalid_request_error` for a URL of no engine. */
export function openStore({ url, log, clock = Date.now }: StoreOptions): Store {
  const file = fileOf(url);
  if (file === undefined) {
    throw new PorticoError(
      "invalid_request_error",
      `store.url: ${schemeOf(url)} is not a store: use file:<absolute path>`,
      {
        param: "store.url",
      },
    );
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return createStore(sqliteEngine({ file, log, clock }));
}

function fileOf(url: string): string | undefined {
  if (url.startsWith("file://")) return fileURLToPath(url);
  const path = url.startsWith("file:") ? url.slice("file:".length) : url;
  return isAbsolute(path) ? path : undefined;
}

function schemeOf(url: string): string {
  return /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? "this";
}
