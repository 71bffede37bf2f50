/** The interface of the engines in `sqlite/` and `postgres/`. */
import type { StoreHealth } from "../types.ts";
import type { Operation, Transaction, Write } from "./operation.ts";

/** Runs operations against one database. */
export interface Engine {
  now(): number;
  write<T>(write: Write<T>): Promise<T>;
  /**
   * Reads at one moment. `name` identifies a read whose result depends on the tables alone, not on the time: an engine may
   * return the previous result of that name if nothing was written since.
   */
  read<T>(operation: (tx: Transaction) => Operation<T>, name?: string): Promise<T>;
  onWork(kind: string, wake: () => void): () => void;
  /** See `Store.inSoleUse`. */
  inSoleUse(): boolean;
  /** Makes the engine's next numbers follow those of rows that were copied from another engine. */
  finishCopy(): Promise<void>;
  open(): Promise<void>;
  health(isQuick?: boolean): Promise<StoreHealth>;
  check(): Promise<string[]>;
  backup(file: string): Promise<{ bytes: number }>;
  compact(): Promise<{ before: number; after: number }>;
  close(): Promise<void>;
}
