/** What an engine must do: `sqlite/` and `postgres/` are the two. */
import type { StoreHealth } from "../types.ts";
import type { Operation, Transaction, Write } from "./operation.ts";

/** Runs operations against one database. */
export interface Engine {
  now(): number;
  write<T>(write: Write<T>): Promise<T>;
  /**
   * `name` stands for what is read, where that depends on the tables alone, not on the time: where the engine knows that
   * nothing was written since, it returns what it read under that name before.
   */
  read<T>(operation: (tx: Transaction) => Operation<T>, name?: string): Promise<T>;
  onWork(kind: string, wake: () => void): () => void;
  /** As `Store.inSoleUse` says. */
  inSoleUse(): boolean;
  /** Rows were copied here whose numbers another engine had given: the next numbers come after them. */
  copied(): Promise<void>;
  open(): Promise<void>;
  health(isQuick?: boolean): Promise<StoreHealth>;
  check(): Promise<string[]>;
  backup(file: string): Promise<{ bytes: number }>;
  compact(): Promise<{ before: number; after: number }>;
  close(): Promise<void>;
}
