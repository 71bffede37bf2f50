/** The parts of the gateway that hooks use. */
import type { Bus } from "../../bus.ts";
import type { KernelConfig } from "../../../config/schema.ts";
import type { HookContextMember, Logger, Paths } from "../../../contract/index.ts";
import type { Loader } from "../../../loader/load.ts";
import type { WorkerLink } from "../../../contract/workers.ts";

/** `hooks.entries.<name>`: the keys that Portico reads, and any others for the hook itself. */
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
  /** The members that plugins add to a hook's `ctx`. `memberNames` returns the names of all that any plugin may add. */
  members(): readonly HookContextMember[];
  memberNames(): readonly string[];
  loader: Loader;
  agree?: WorkerLink["agree"] | undefined;
  settings(): HookSettings;
  /** A value of the whole configuration by its key path; undefined if it is not set. */
  lookup(key: string): unknown;
  /** The values that must never be shown. */
  secrets(): Iterable<string>;
}
