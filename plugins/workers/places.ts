/** Places that all workers share: `max` of a name at a time, first come first served. */

export interface Holder {
  worker: number;
  ref: number;
}

export function createPlaces(grant: (holder: Holder) => void) {
  const rooms = new Map<string, { max: number; held: Holder[]; waiting: Holder[] }>();
  const isOf = (worker: number, ref?: number) => (one: Holder) =>
    one.worker === worker && (ref === undefined || one.ref === ref);

  function fill(name: string): void {
    const room = rooms.get(name)!;
    while (room.held.length < room.max && room.waiting.length > 0) {
      const next = room.waiting.shift()!;
      room.held.push(next);
      grant(next);
    }
    if (room.held.length === 0 && room.waiting.length === 0) rooms.delete(name);
  }

  return {
    enter(name: string, max: number, holder: Holder): void {
      const room = rooms.get(name) ?? { max, held: [], waiting: [] };
      rooms.set(name, room);
      room.max = max;
      room.waiting.push(holder);
      fill(name);
    },
    /** Without `ref`: everything of that worker. */
    leave(worker: number, ref?: number): void {
      const stays = (one: Holder) => !isOf(worker, ref)(one);
      for (const [name, room] of rooms) {
        if (
          ref !== undefined &&
          !room.held.some(isOf(worker, ref)) &&
          !room.waiting.some(isOf(worker, ref))
        )
          continue;
        room.held = room.held.filter(stays);
        room.waiting = room.waiting.filter(stays);
        fill(name);
      }
    },
  };
}
