/** Connects turns with the callers in this process that wait for their text or their end. */
import type { Client } from "portico";
import type { TurnEnd } from "./turn-end.ts";

/** Receives a piece of a turn's text. */
export type Listen = (text: string) => void;
/** Receives a piece with its attempt, because the text of an earlier attempt is invalid. */
export type ListenToAttempts = (text: string, attempt: number) => void;

/** A caller whose connection stays open while the turn runs. */
export interface Caller {
  client: Client;
  /** Receives the end of the turn before it is stored. */
  settle(result: { end: TurnEnd } | { error: unknown }): void;
}

export interface Progress {
  /** Registers the caller of a turn until the returned function is called. */
  attend(turnId: string, caller: Caller): () => void;
  callerOf(turnId: string): Caller | undefined;
  /** Returns the listener for the text of an attempt; undefined if nobody listens, so that the turn need not stream. */
  listener(turnId: string, attempt: number): Listen | undefined;
  onDelta(turnId: string, listen: ListenToAttempts): () => void;
  /** Calls the listener when an attempt begins or ends. */
  onChange(turnId: string, listener: () => void): () => void;
  notifyStart(turnId: string): void;
  notifyEnd(turnId: string): void;
}

export function createProgress(): Progress {
  const callers = new Map<string, Caller>();
  const deltas = new Map<string, Set<ListenToAttempts>>();
  const changes = new Map<string, Set<() => void>>();
  const notify = (turnId: string) => {
    for (const changed of [...(changes.get(turnId) ?? [])]) changed();
  };
  return {
    attend(turnId, caller) {
      callers.set(turnId, caller);
      return () => void callers.delete(turnId);
    },
    callerOf: (turnId) => callers.get(turnId),
    listener(turnId, attempt) {
      const listeners = deltas.get(turnId);
      if (!listeners) return undefined;
      return (text) => {
        for (const listen of listeners) listen(text, attempt);
      };
    },
    onDelta: (turnId, listen) => subscribe(deltas, turnId, listen),
    onChange: (turnId, changed) => subscribe(changes, turnId, changed),
    notifyStart: notify,
    notifyEnd: notify,
  };
}

/**
 * Each call of the returned function begins a paragraph, which a blank line separates from the previous text. Notes, the
 * text of each step and the notice of a limit thus look the same in the stream and in the result. `hasSpoken`: the
 * stream already contains text.
 */
export function separateParagraphs(
  listener: () => Listen | undefined,
  hasSpoken = false,
): () => Listen | undefined {
  let hasText = hasSpoken;
  return () => {
    const listen = listener();
    if (!listen) return undefined;
    let hasBegun = false;
    return (text) => {
      if (text === "") return;
      listen(hasText && !hasBegun ? `\n\n${text}` : text);
      hasText = hasBegun = true;
    };
  };
}

function subscribe<T>(map: Map<string, Set<T>>, key: string, listener: T): () => void {
  const set = map.get(key) ?? new Set<T>();
  map.set(key, set.add(listener));
  return () => {
    set.delete(listener);
    if (set.size === 0 && map.get(key) === set) map.delete(key);
  };
}
