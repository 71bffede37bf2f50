/** Remembers what was derived from an object that never changes, such as a version of the configuration. */
export function derived<K extends object, V>(derive: (from: K) => V): (from: K) => V {
  const known = new WeakMap<K, V>();
  return (from) => {
    const value = known.get(from);
    if (value !== undefined) return value;
    const result = derive(from);
    known.set(from, result);
    return result;
  };
}
