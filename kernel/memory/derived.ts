/** Caches the value derived from an object that never changes, such as a version of the configuration. */
export function derived<K extends object, V>(derive: (from: K) => V): (from: K) => V {
  const cache = new WeakMap<K, V>();
  return (from) => {
    const value = cache.get(from);
    if (value !== undefined) return value;
    const result = derive(from);
    cache.set(from, result);
    return result;
  };
}
