/** Remembers what was made of an object that never changes: another one stands in its place then. */
export function derived<K extends object, V>(derive: (from: K) => V): (from: K) => V {
  const known = new WeakMap<K, V>();
  return (from) => {
    let value = known.get(from);
    if (value === undefined) known.set(from, (value = derive(from)));
    return value;
  };
}
