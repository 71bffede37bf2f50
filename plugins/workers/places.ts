/** Places that all workers share: at most `max` of a name are granted at a time, in the order of the requests. */

export interface Holder {
  worker: number;
  ref: number;
}

export function createPlaces(grant: (holder: Holder) => void) {
  const groups = new Map<string, { max: number; holders: Holder[]; waiting: Holder[] }>();
  const matches = (worker: number, ref?: number) => (holder: Holder) =>
    holder.worker === worker && (ref === undefined || holder.ref === ref);

  function grantFree(name: string): void {
    const group = groups.get(name)!;
    while (group.holders.length < group.max && group.waiting.length > 0) {
      const next = group.waiting.shift()!;
      group.holders.push(next);
      grant(next);
    }
    if (group.holders.length === 0 && group.waiting.length === 0) groups.delete(name);
  }

  return {
    enter(name: string, max: number, holder: Holder): void {
      const group = groups.get(name) ?? { max, holders: [], waiting: [] };
      groups.set(name, group);
      group.max = max;
      group.waiting.push(holder);
      grantFree(name);
    },
    /** Gives back a place, or withdraws the request for it; without `ref`, all of that worker. */
    leave(worker: number, ref?: number): void {
      const isOther = (holder: Holder) => !matches(worker, ref)(holder);
      for (const [name, group] of groups) {
        if (
          ref !== undefined &&
          !group.holders.some(matches(worker, ref)) &&
          !group.waiting.some(matches(worker, ref))
        )
          continue;
        group.holders = group.holders.filter(isOther);
        group.waiting = group.waiting.filter(isOther);
        grantFree(name);
      }
    },
  };
}
