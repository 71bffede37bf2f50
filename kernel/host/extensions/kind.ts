/** The interface of a kind of extension (hook, plugin): how to read it from disk, and how to run it. */
import type { Scope } from "../../timing/scope.ts";
import type { Logger } from "../../contract/index.ts";
import type { ExtensionDirectory } from "./discover.ts";
import type { WorkerLink } from "../../contract/workers.ts";
import type { Root } from "./roots.ts";
import type { DisabledReason, Slot, Version } from "./slot.ts";

export interface Kind<V extends Version, S extends Slot<V>, Info> {
  /** The section of the configuration that says which extensions run. */
  section: "hooks" | "plugins";
  log: Logger;
  roots(): readonly Root[];
  /** The file names that make a directory an extension, in order of preference. */
  entryNames: readonly string[];
  /** Reads a directory without running any untrusted code in it. Never throws: the candidate holds the problem. */
  read(directory: ExtensionDirectory, before: V["candidate"] | undefined): Promise<V["candidate"]>;
  /** Receives every candidate after each scan. */
  onScanned?(candidates: readonly V["candidate"][]): void;
  /** Returns the members of a new slot that are specific to the kind. */
  slot(
    name: string,
  ): Omit<S, "name" | "candidates" | "duplicates" | "disabled" | "attempt" | "generation">;
  /** Returns the information that is shown of a candidate. */
  describe(slot: S, candidate: V["candidate"]): Info;
  whyDisabled(slot: S, candidate: V["candidate"]): DisabledReason | undefined;
  /** False while the candidate has to wait for something else to run. */
  isReady?(candidate: V["candidate"]): boolean;
  /** Loads and checks a version, without touching the active one. */
  load(candidate: V["candidate"]): Promise<V>;
  /**
   * Applies a change of these configuration keys to the active version, or restarts it. An error refuses the change.
   */
  reconfigure(slot: S, keys: readonly string[], restart: Restart<V>): void | Promise<void>;
  /** Stages the version's effects in the scope. If it throws, the old version keeps running. */
  start(version: V, scope: Scope, slot: S, phase: Phase): void | Promise<void>;
  /** With several processes: a version that appears while they run is activated by all of them, or by none. */
  agree?: WorkerLink["agree"] | undefined;
  /** The time limit of one undo in ms. Absent: no limit, because nothing else waits for it. */
  undoMs?: number;
  /** Called for each name once its version is active, and also when the extension was removed. */
  onSettled?(slot: S): void;
}

/** Starts a version in place of the active one, under the same generation. */
export type Restart<V> = (version: V) => Promise<void>;

/** Once `started` is true, changes are logged. */
export interface Phase {
  started: boolean;
  stopped: boolean;
}
