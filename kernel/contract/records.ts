/** What is known about extensions. */
import type { HookMeta } from "./hooks.ts";

/** What is wrong, in one line, and where. */
export interface Problem {
  message: string;
  file?: string;
  line?: number;
  column?: number;
}

/**
 * `active` runs; `stale` runs its last good version because the one on disk does not load; `failed` does not run;
 * `loading` is about to; `waiting` needs something else to run; `resting` failed too often in a row; `disabled` by the
 * configuration or by itself; `ineligible` lacks something that it requires; `refused` is unsafe to load; `unapproved`
 * waits for its approval; `shadowed` is replaced by one of the same name in a higher root.
 */
export type ExtensionState =
  | "active"
  | "stale"
  | "failed"
  | "loading"
  | "waiting"
  | "resting"
  | "disabled"
  | "ineligible"
  | "refused"
  | "unapproved"
  | "shadowed";

/** The version that runs. */
export interface LoadedVersion {
  /** Counts up with each load since the gateway started. */
  generation: number;
  hash: string;
  /** ISO 8601. */
  loadedAt: string;
  loadMs: number;
  /** Where it was loaded from; differs from the record's while a broken override lets an older one run. */
  dir: string;
}

export interface ExtensionRecord {
  name: string;
  state: ExtensionState;
  /** Why it does not run, or not in its newest version. */
  error?: string;
  /** The place of the error. */
  file?: string;
  line?: number;
  /** `bundled`, `extra`, `managed` or `workspace`. */
  root: string;
  dir: string;
  /** The directory that this one replaces, and its root. */
  shadows?: { root: string; dir: string };
  /** The directory that replaces this one, and its root. */
  shadowedBy?: { root: string; dir: string };
  loaded?: LoadedVersion;
}

export interface PluginRecord extends Omit<ExtensionRecord, "shadowedBy" | "loaded"> {
  description?: string;
  /** The directory that replaces this one. */
  shadowedBy?: string;
  hash?: string;
  generation: number;
  loadedAt?: string;
  loadMs?: number;
  setupMs?: number;
  effects: string[];
}

export interface HookRun {
  /** ISO 8601. */
  at: string;
  event: string;
  ms: number;
  ok: boolean;
  error?: string;
}

export interface HookFailure extends Problem {
  at: string;
  event?: string;
  timedOut?: boolean;
}

/** How a hook has been doing. */
export interface Health {
  runs: number;
  failures: number;
  lastRun?: HookRun;
  lastError?: HookFailure;
  /** This and what follows begins anew with each version. */
  failuresInARow: number;
  /** It failed too often in a row: it is not called (state `resting`). */
  tripped: boolean;
  /** Its handler once had to be interrupted: it gets little time until it succeeds. */
  blocked: boolean;
}

/** What the host knows of a hook: how it is shown is somebody else's. */
export interface HookInfo extends ExtensionRecord {
  /** As HOOK.md says; undefined where it cannot be read. Its text, and its file. */
  meta?: HookMeta;
  text: string;
  descriptor: string;
  /** The handler's file. */
  handler?: string;
  enabled: boolean;
  priority: number;
  timeoutMs: number;
  health: Health;
  warnings: readonly string[];
  /** Why it is unsafe to load. */
  refused?: string;
  /** Why it cannot be loaded. */
  problem?: Problem;
  /** What it requires and lacks, one line each. */
  missing(): readonly string[];
  /** False where its content waits for its approval: nothing of it may be evaluated. */
  isApproved(): boolean;
  /** Loads its code off to the side, and ends it; what is wrong with it. */
  load(): Promise<Problem | undefined>;
}

/** One line that a hook logged, or that was logged about it. */
export interface HookLogLine {
  at: string;
  level: string;
  message: string;
  fields?: Record<string, unknown>;
}

/** What a handler that succeeded asks for. */
export interface Effects {
  result?: { reply: string } | { block: string };
  /** Declared changeable fields with their new values. */
  changed: Record<string, unknown>;
  /** Replies that were pushed on `event.messages`. */
  messages: string[];
  /** What it asked for and does not get, one line each. */
  ignored: string[];
}

/** The event of a call by hand. */
export interface HookTrialEvent {
  name: string;
  context: Record<string, unknown>;
  sessionKey?: string | undefined;
}

/** What became of one call by hand: what it would do, and what it said. */
export interface HookTrial {
  ok: boolean;
  ms: number;
  effects?: Effects;
  error?: string;
  file?: string;
  line?: number;
  timedOut?: boolean;
  logs: HookLogLine[];
}
