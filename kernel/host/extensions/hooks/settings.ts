/** What the hooks read of the gateway around them. */
import type { Bus } from "../../bus.ts";
import type { KernelConfig } from "../../../config/schema.ts";
import type { HookContextMember, Logger, Paths } from "../../../contract/index.ts";
import type { Loader } from "../../../loader/load.ts";
import type { WorkerLink } from "../../../contract/workers.ts";

/** `hooks.entries.<name>`: besides what Portico reads, anything that the hook itself understands. */
export type HookEntry = KernelConfig["hooks"]["entries"][string] & Record<string, unknown>;
export type HookSettings = Omit<KernelConfig["hooks"], "entries"> & {
  entries: Record<string, HookEntry>;
};

/** The gateway as the hook host needs it. */
export interface HookHostOptions {
  paths: Paths;
  /** The variables that hooks may require, as they are now. */
  env(): Record<string, string | undefined>;
  log: Logger;
  bus: Pick<Bus, "on" | "emit" | "call" | "spec" | "specs">;
  /** What plugins add to a hook's `ctx`, and the names of all that any plugin may add. */
  members(): readonly HookContextMember[];
  memberNames(): readonly string[];
  loader: Loader;
  agree?: WorkerLink["agree"] | undefined;
  settings(): HookSettings;
  /** A value of the whole configuration by its key path; undefined if it is not set. */
  lookup(key: string): unknown;
  /** Values that must not show anywhere. */
  secrets(): Iterable<string>;
}
