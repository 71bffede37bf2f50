/**
 * Lists that change with every request. A Set writes its table anew every hundred entries, and each old table keeps what
 * was in it (whole requests) until the next full garbage collection.
 */

/** The last takes the place of whoever goes. */
export function takeOut<E extends { place: number }>(list: E[], entry: E): void {
  const last = list.pop()!;
  last.place = entry.place;
  if (last !== entry) list[entry.place] = last;
}
