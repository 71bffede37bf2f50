/** Who waits in this process for the text of a turn, or for its end. */
import type { Client } from "portico";
import type { TurnEnd } from "./turn-end.ts";

/** Gets a piece of a turn's text. */
export type Listen = (text: string) => void;
/** The same, with the attempt that the piece belongs to: the text of an earlier attempt no longer counts. */
export type ListenToAttempts = (text: string, attempt: number) => void;

/** Somebody whose connection is open for as long as the turn runs. */
export interface Caller {
  client: Client;
  /** How the turn ends here, before that is written. */
  settle(how: { end: TurnEnd } | { error: unknown }): void;
}

export interface Progress {
  /** Until the returned function is called. */
  attend(turnId: string, caller: Caller): () => void;
  callerOf(turnId: string): Caller | undefined;
  /** Where what an attempt says goes; `undefined` where nobody listens, so that nothing is streamed for nobody. */
  listener(turnId: string, attempt: number): Listen | undefined;
  onDelta(turnId: string, listen: ListenToAttempts): () => void;
  /** Calls back when an attempt has begun or ended. */
  onChange(turnId: string, changed: () => void): () => void;
  started(turnId: string): void;
  ended(turnId: string): void;
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
    started: notify,
    ended: notify,
  };
}

/**
 * Each call of the returned function begins a paragraph: its text is separated from the text before. Notes, the text of
 * each step and the notice of a limit look the same in the stream and in the result. `hasSpoken`: there is text before.
 */
export function inParagraphs(
  listener: () => Listen | undefined,
  hasSpoken = false,
): () => Listen | undefined {
  let spoken = hasSpoken;
  return () => {
    const listen = listener();
    if (!listen) return undefined;
    let begun = false;
    return (text) => {
      if (text === "") return;
      listen(spoken && !begun ? `\n\n${text}` : text);
      spoken = begun = true;
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
