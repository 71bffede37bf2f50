/** What the hooks read of the gateway around them. */
import type { Bus } from "../../bus.ts";
import type { HookContextMember, Logger, Paths } from "../../types.ts";
import type { Loader } from "../load/load.ts";
import type { Trust } from "../roots.ts";

/** `hooks.entries.<name>`: besides these, anything that the hook itself understands. */
export interface HookEntry extends Record<string, unknown> {
  enabled?: boolean;
  env?: Record<string, string>;
  /** In the place of what HOOK.md says. */
  priority?: number;
  timeoutMs?: number;
}

/** The `hooks` section of the configuration. */
export interface HookSettings {
  enabled: boolean;
  entries: Record<string, HookEntry>;
  /** Further roots, between the bundled and the managed one; later ones replace earlier ones. */
  extraDirs: string[];
  /** `approved`: a workspace hook runs only once its content was approved. */
  trust: Trust;
}

/** The gateway as the hook host needs it. */
export interface HookHostOptions {
  paths: Paths;
  /** The variables that hooks may require, as they are now. */
  env(): Record<string, string | undefined>;
  log: Logger;
  bus: Pick<Bus, "on" | "emit" | "spec" | "specs">;
  /** What plugins add to a hook's `ctx`, and the names of all that any plugin may add. */
  members(): readonly HookContextMember[];
  memberNames(): Iterable<string>;
  loader: Loader;
  config: {
    readonly kernel: { readonly hooks: HookSettings };
    /** A value of the whole configuration by its key path; undefined where it is not set. */
    get(key: string): unknown;
    /** Values that must not show anywhere. */
    secrets(): Iterable<string>;
  };
}

/** What one hook's context is made from. */
export interface HookSurroundings extends Pick<HookHostOptions, "env" | "paths" | "members" | "memberNames"> {
  emit: Bus["emit"];
  entry(name: string): HookEntry;
  lookup(key: string): unknown;
  secrets(): Iterable<string>;
}
