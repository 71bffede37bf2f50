/** What is known about a hook, as `/kernel/hooks` and `portico hooks` show it. */
import {
  didYouMean,
  type EventOutline,
  type ExtensionRecord,
  type HookFailure,
  type HookInfo,
  type HookRun,
  type IgnoredEffect,
} from "portico";

export interface HookEventRecord {
  name: string;
  /** False if no plugin declares the event: the hook is never called for it. */
  known: boolean;
  /** The nearest known name, where there is one. */
  didYouMean?: string;
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
  /** Files outside the hook's directory that its code consists of. */
  outsideInputs: readonly string[];
  /** What it requires and lacks, one line each. */
  missing: readonly string[];
  warnings: readonly string[];
  runs: number;
  failures: number;
  failuresInARow: number;
  /** `at`: ISO 8601. */
  lastRun?: Omit<HookRun, "at"> & { at: string };
  lastError?: HookFailure;
  /** What the active version asked for and does not get, with the events that allow it. */
  ignored: readonly IgnoredEffect[];
}

type Declared = ReadonlyMap<string, Pick<EventOutline, "mode">>;

/** An event that a hook handles, with the nearest known name if no plugin emits it. */
export function describeEvent(name: string, declared: Declared): HookEventRecord {
  const isKind =
    name.endsWith(":*") &&
    [...declared.keys()].some((event) => event.startsWith(name.slice(0, -1)));
  if (isKind || declared.has(name)) return { name, known: true };
  const near = didYouMean(name, declared.keys());
  return near === undefined ? { name, known: false } : { name, known: false, didYouMean: near };
}

export function describeHook(info: HookInfo, declared: Declared): HookRecord {
  const {
    name,
    state,
    error,
    reason,
    file,
    line,
    root,
    dir,
    shadows,
    shadowedBy,
    loaded,
    meta,
    health,
  } = info;
  const { handler, outsideInputs, enabled, priority, timeoutMs, warnings, missing } = info;
  const { runs, failures, failuresInARow, lastRun, lastError, ignored } = health;
  return {
    name,
    state,
    error,
    reason,
    file,
    line,
    root,
    dir,
    shadows,
    shadowedBy,
    loaded,
    handler,
    outsideInputs,
    enabled,
    priority,
    timeoutMs,
    warnings,
    description: meta?.description,
    emoji: meta?.emoji,
    homepage: meta?.homepage,
    events: (meta?.events ?? []).map((name) => describeEvent(name, declared)),
    failClosed: meta?.failClosed ?? false,
    missing: state === "ineligible" ? missing() : [],
    runs,
    failures,
    failuresInARow,
    lastRun: lastRun && { ...lastRun, at: new Date(lastRun.at).toISOString() },
    lastError,
    ignored,
  };
}
