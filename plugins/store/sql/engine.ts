/** What an engine must do: `sqlite/` and `postgres/` are the two. */
import type { StoreHealth } from "../types.ts";
import type { Operation, Transaction } from "./operation.ts";

/** What a write was called with, so that it can be done again after a crash. It only looks things up and gathers rows. */
export interface Again<T> {
  /** As JSON all that `Replay` needs. */
  entry: unknown;
  /** Kinds of work that it adds. */
  kinds: readonly string[];
  /** It has changed nothing. */
  isNothing(result: T): boolean;
}
export type Replay = (tx: Transaction, entry: unknown) => Operation<unknown>;

export interface WriteOptions<T> {
  /** Need not be on the disk before it resolves, only before the next durable write does. */
  soft?: boolean;
  /** Asked where it is wanted. */
  again?: () => Again<T> | undefined;
}

/** Runs operations against one database. */
export interface Engine {
  now(): number;
  write<T>(operation: (tx: Transaction) => Operation<T>, options?: WriteOptions<T>): Promise<T>;
  /**
   * `name` stands for what is read, where that depends on the tables alone, not on the time: where the engine knows that
   * nothing was written since, it is what was read under that name before.
   */
  read<T>(operation: (tx: Transaction) => Operation<T>, name?: string): Promise<T>;
  onWork(kind: string, wake: () => void): () => void;
  /** As `Store.inSoleUse` says. */
  inSoleUse(): boolean;
  /** Rows came with numbers that another engine had given: those to come begin behind them. */
  copied(): Promise<void>;
  open(): Promise<void>;
  health(isQuick?: boolean): Promise<StoreHealth>;
  check(): Promise<string[]>;
  backup(file: string): Promise<{ bytes: number }>;
  compact(): Promise<{ before: number; after: number }>;
  close(): Promise<void>;
}
