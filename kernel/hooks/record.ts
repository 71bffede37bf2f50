/** What is known about a hook, as `/kernel/hooks` and `portico hooks` show it. */
import type { Problem } from "./problem.ts";

/**
 * `active` runs; `stale` runs its last good version because the one on disk does not load; `failed` does not run;
 * `loading` is about to; `resting` failed too often in a row; `disabled` by the configuration or its own front matter; `ineligible` lacks
 * something that it requires; `refused` is unsafe to load; `unapproved` waits for `portico hooks approve`; `shadowed`
 * is replaced by a hook of the same name in a higher root.
 */
export type HookState =
  | "active"
  | "stale"
  | "failed"
  | "loading"
  | "resting"
  | "disabled"
  | "ineligible"
  | "refused"
  | "unapproved"
  | "shadowed";

export interface HookEventRecord {
  name: string;
  /** False where nobody declares the event: the hook is never called for it. */
  known: boolean;
  /** The nearest known name, where there is one. */
  didYouMean?: string;
}

/** The version that runs. */
export interface LoadedVersion {
  /** Counts up with each load since the gateway started. */
  generation: number;
  hash: string;
  loadedAt: string;
  loadMs: number;
  /** Where it was loaded from; differs from the record's while a broken override lets an older one run. */
  dir: string;
}

export interface HookRun {
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

export interface HookRecord {
  name: string;
  state: HookState;
  /** Why it does not run, or not in its newest version. */
  error?: string;
  /** The place of the error. */
  file?: string;
  line?: number;
  description?: string;
  emoji?: string;
  homepage?: string;
  events: HookEventRecord[];
  priority: number;
  timeoutMs: number;
  enabled: boolean;
  /** `bundled`, `extra`, `managed` or `workspace`. */
  root: string;
  dir: string;
  /** The handler's file. */
  handler?: string;
  /** What it requires and lacks, one line each. */
  missing: string[];
  warnings: string[];
  /** The directory that this one replaces, and its root. */
  shadows?: { root: string; dir: string };
  /** The directory that replaces this one, and its root. */
  shadowedBy?: { root: string; dir: string };
  loaded?: LoadedVersion;
  runs: number;
  failures: number;
  failuresInARow: number;
  lastRun?: HookRun;
  lastError?: HookFailure;
}

/** One line that a hook logged, or that was logged about it. */
export interface HookLogLine {
  at: string;
  level: string;
  message: string;
  fields?: Record<string, unknown>;
}
