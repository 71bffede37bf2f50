/** What is known about extensions, and the service by which they are managed. */
import type { Dispose, Paths } from "./common.ts";
import type { EventSpec } from "./events.ts";

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

export interface HookEventRecord {
  name: string;
  /** False where nobody declares the event: the hook is never called for it. */
  known: boolean;
  /** The nearest known name, where there is one. */
  didYouMean?: string;
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

export interface HookRecord extends ExtensionRecord {
  description?: string;
  emoji?: string;
  homepage?: string;
  events: HookEventRecord[];
  priority: number;
  timeoutMs: number;
  /** While it does not work, its events are refused. */
  failClosed: boolean;
  enabled: boolean;
  /** The handler's file. */
  handler?: string;
  /** What it requires and lacks, one line each. */
  missing: readonly string[];
  warnings: readonly string[];
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

export interface HookRunRequest {
  /** Default: the only event of the hook. */
  event?: string;
  /** Laid over the event's sample. */
  context?: Record<string, unknown>;
  sessionKey?: string;
}

/** One call by hand: what it would do, and what it said. */
export interface HookRunReport {
  hook: string;
  event: string;
  ok: boolean;
  ms: number;
  /** What it was given. */
  context: Record<string, unknown>;
  effects?: Effects;
  error?: string;
  file?: string;
  line?: number;
  timedOut?: boolean;
  logs: HookLogLine[];
}

export interface HookCheckReport {
  name: string;
  dir: string;
  ok: boolean;
  /** What keeps it from running as it should. */
  problems: Problem[];
  /** What is odd but harmless. */
  warnings: readonly string[];
  events: string[];
}

/** An event as its declaration describes it. */
export type EventOutline = Pick<EventSpec, "mode" | "description" | "effects"> & {
  changes?: readonly string[];
  sample?: unknown;
};

/** Why the configuration file on disk is not in force. */
export interface ReloadProblem {
  message: string;
  line?: number;
}

/** The gateway's extensions, configuration and log, for those who show and steer them. Names that are not there: 404. */
export interface Management {
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly paths: Paths;
  url(): string;
  /** The loopback servers that plugins opened, by name. */
  servers(): Record<string, string>;
  notReady(): readonly { name: string; error: string }[];
  events(): ReadonlyMap<string, EventSpec>;
  readonly config: {
    problem(): ReloadProblem | undefined;
    /** Applies the file now. */
    refresh(): Promise<void>;
    set(path: readonly (string | number)[], value: unknown): Promise<void>;
  };
  readonly log: {
    /** The last lines, oldest first, as JSON. */
    recent(): readonly string[];
    follow(line: (line: string) => void): Dispose;
  };
  readonly plugins: {
    list(): PluginRecord[];
    info(name: string): PluginRecord;
    reload(name: string): Promise<PluginRecord>;
    rescan(): Promise<void>;
  };
  readonly hooks: {
    roots(): readonly { name: string; dir: string }[];
    list(): HookRecord[];
    info(name: string): HookRecord;
    /** The last lines, oldest first. */
    logs(name: string, count: number): HookLogLine[];
    enable(name: string): Promise<HookRecord>;
    disable(name: string): Promise<HookRecord>;
    approve(name: string): Promise<HookRecord>;
    reload(name?: string): Promise<HookRecord[]>;
    rescan(): Promise<void>;
    check(name: string): Promise<HookCheckReport>;
    run(name: string, request: HookRunRequest): Promise<HookRunReport>;
  };
}
