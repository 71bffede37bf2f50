/** A kind of extension (hook, plugin): how it is read from disk, and how it runs. */
import type { Scope } from "../../timing/scope.ts";
import type { Logger } from "../../contract/index.ts";
import type { Found } from "./discover.ts";
import type { WorkerLink } from "../../contract/workers.ts";
import type { Root } from "./roots.ts";
import type { DisabledReason, Slot, Version } from "./slot.ts";

export interface Kind<V extends Version, S extends Slot<V>, Shown> {
  /** The section of the configuration that says which of them run. */
  section: "hooks" | "plugins";
  log: Logger;
  roots(): readonly Root[];
  /** What makes a directory one, in order of preference. */
  entryNames: readonly string[];
  /** Reads a directory without running anything of it that is not trusted. Never throws: the candidate holds the problem. */
  read(found: Found, before: V["candidate"] | undefined): Promise<V["candidate"]>;
  /** Receives every candidate after each scan. */
  scanned?(candidates: readonly V["candidate"][]): void;
  /** What it knows of a name beside what every slot has. */
  slot(
    name: string,
  ): Omit<S, "name" | "candidates" | "duplicates" | "disabled" | "attempt" | "generation">;
  /** What is shown of it. */
  describe(slot: S, candidate: V["candidate"]): Shown;
  whyDisabled(slot: S, candidate: V["candidate"]): DisabledReason | undefined;
  /** False while it has to wait for something else to run. */
  isReady?(candidate: V["candidate"]): boolean;
  /** Loads and checks a version; what runs is not touched. */
  load(candidate: V["candidate"]): Promise<V>;
  /** The running version takes a change of these keys of the configuration, or restarts. An error refuses the change. */
  take(slot: S, keys: readonly string[], restart: Restart<V>): void | Promise<void>;
  /** Stages in the scope what the version does. What it throws leaves the old version running. */
  start(version: V, scope: Scope, slot: S, phase: Phase): void | Promise<void>;
  /** Where several processes run the same: a version that came while they run is taken up by all of them, or by none. */
  agree?: WorkerLink["agree"] | undefined;
  /** How long one undo may take, in ms. Absent: without a limit, because nothing else waits for it. */
  undoMs?: number;
  /** Called for each name once its version is active, and also when the extension was removed. */
  settled?(slot: S): void;
}

/** Starts a version again in the place of the one that runs, under the same number. */
export type Restart<V> = (version: V) => Promise<void>;

/** `started`: what happens from now on is news, and logged. */
export interface Phase {
  started: boolean;
  stopped: boolean;
}
