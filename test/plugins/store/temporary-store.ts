/** Stores for tests: a directory of their own, a clock that tests turn, a log that keeps its lines. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../../plugins/store/open.ts";
import type { Store } from "../../../plugins/store/types.ts";
import { quietLog } from "../../support/quiet-log.ts";

export interface TemporaryStore {
  store: Store;
  dir: string;
  file: string;
  clock: { now: number };
  lines: unknown[][];
  /** Another connection to the same file, on the same clock. */
  another(): Store;
  remove(): Promise<void>;
}

let urlOf: ((file: string) => string) | undefined;
let checkServer: () => void = () => {};

/** From now on stores of tests are made there, and not in files of their own; `check` throws for what went wrong there. */
export function storesElsewhere(emptyUrl: () => string, check: () => void): void {
  urlOf = emptyUrl;
  checkServer = check;
}

/** Returns whether the tests' stores are files, for tests of what only a file has. */
export function isInFile(): boolean {
  return urlOf === undefined;
}

/** `isFile`: also where the tests' stores are elsewhere. */
export function temporaryStore({ start = 1_800_000_000_000, isFile = false } = {}): TemporaryStore {
  const dir = mkdtempSync(join(tmpdir(), "portico-store-"));
  const file = join(dir, "portico.db");
  const clock = { now: start };
  const lines: unknown[][] = [];
  const url = (isFile ? undefined : urlOf?.(file)) ?? `file:${file}`;
  const open = () => openStore({ url, log: quietLog(lines), clock: () => clock.now });
  const stores = [open()];
  return {
    store: stores[0] as Store,
    dir,
    file,
    clock,
    lines,
    another() {
      const store = open();
      stores.push(store);
      return store;
    },
    async remove() {
      for (const store of stores) await store.close();
      rmSync(dir, { recursive: true, force: true });
      checkServer();
    },
  };
}

/** 32 MB: work on the whole file takes longer than some writes. */
export async function fill(store: Store): Promise<void> {
  for (let n = 0; n < 32; n++) await store.kv.set("large", `k${n}`, "x".repeat(1_000_000));
}

/** Returns the same numbers for the same seed. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
