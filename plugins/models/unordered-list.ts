/**
 * Lists that change with every request. A Set would rebuild its table every hundred entries, and each old table retains
 * its entries (whole requests) until the next full garbage collection.
 */

/** Removes an entry by moving the last entry into its place. */
export function removeEntry<E extends { place: number }>(list: E[], entry: E): void {
  const last = list.pop()!;
  last.place = entry.place;
  if (last !== entry) list[entry.place] = last;
}
