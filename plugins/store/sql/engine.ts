/** What an engine must do: `sqlite/` and `postgres/` are the two. */
import type { StoreHealth } from "../types.ts";
import type { Operation, Transaction } from "./operation.ts";

/** Runs operations against one database. */
export interface Engine {
  now(): number;
  /** `soft`: need not be on the disk before it resolves, only before the next durable write does. */
  write<T>(operation: (tx: Transaction) => Operation<T>, options?: { soft?: boolean }): Promise<T>;
  read<T>(operation: (tx: Transaction) => Operation<T>): Promise<T>;
  onWork(kind: string, wake: () => void): () => void;
  /** Rows came with numbers that another engine had given: those to come begin behind them. */
  copied(): Promise<void>;
  open(): Promise<void>;
  health(): Promise<StoreHealth>;
  check(): Promise<string[]>;
  backup(file: string): Promise<{ bytes: number }>;
  compact(): Promise<{ before: number; after: number }>;
  close(): Promise<void>;
}
