/** The record of a hook that `/kernel/hooks` and `portico hooks` show. */
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
  /** The most similar event name, if any is close. */
  didYouMean?: string;
}

export interface HookRecord extends ExtensionRecord {
  description?: string;
  emoji?: string;
  homepage?: string;
  events: HookEventRecord[];
  priority: number;
  timeoutMs: number;
  /** If true, its events are refused while the hook does not work. */
  failClosed: boolean;
  enabled: boolean;
  /** The handler's file. */
  handler?: string;
  /** Files outside the hook's directory that are part of its code. */
  outsideInputs: readonly string[];
  /** Unmet requirements, a line for each. */
  missing: readonly string[];
  warnings: readonly string[];
  runs: number;
  failures: number;
  failuresInARow: number;
  /** `at`: ISO 8601. */
  lastRun?: Omit<HookRun, "at"> & { at: string };
  lastError?: HookFailure;
  /** Effects of the active version that were ignored because the event does not allow them. */
  ignored: readonly IgnoredEffect[];
}

type Declared = ReadonlyMap<string, Pick<EventOutline, "mode">>;

/** Describes an event that a hook handles, with the most similar name if no plugin declares it. */
export function describeEvent(name: string, declared: Declared): HookEventRecord {
  const isKnownPattern =
    name.endsWith(":*") &&
    [...declared.keys()].some((event) => event.startsWith(name.slice(0, -1)));
  if (isKnownPattern || declared.has(name)) return { name, known: true };
  const suggestion = didYouMean(name, declared.keys());
  return suggestion === undefined
    ? { name, known: false }
    : { name, known: false, didYouMean: suggestion };
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
