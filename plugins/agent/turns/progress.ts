/** Who waits for a turn in this process: for its pieces of text, and for its end. */
export interface Progress {
  /** Where pieces of the answer go; `undefined` where nobody listens, so that nothing is streamed for nobody. */
  listener(turnId: string): ((text: string) => void) | undefined;
  onDelta(turnId: string, listen: (text: string) => void): () => void;
  /** Calls back when an attempt has begun or ended. */
  onChange(turnId: string, changed: () => void): () => void;
  started(turnId: string): void;
  ended(turnId: string): void;
}

export function createProgress(): Progress {
  const deltas = new Map<string, Set<(text: string) => void>>();
  const changes = new Map<string, Set<() => void>>();
  const notify = (turnId: string) => {
    for (const changed of [...(changes.get(turnId) ?? [])]) changed();
  };
  return {
    listener(turnId) {
      const listeners = deltas.get(turnId);
      if (!listeners) return undefined;
      return (text) => {
        for (const listen of listeners) listen(text);
      };
    },
    onDelta: (turnId, listen) => subscribe(deltas, turnId, listen),
    onChange: (turnId, changed) => subscribe(changes, turnId, changed),
    started: notify,
    ended: notify,
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
