/** Long work in slices of time: between two of them, whatever else the process has to do gets its turn. */
import { setImmediate as nextTurn } from "node:timers/promises";

const SLICE_MS = 20;

/** For loops whose steps are short: `if (slices.isOver) await slices.pause()`. */
export class TimeSlices {
  #end = performance.now() + SLICE_MS;

  get isOver(): boolean {
    return performance.now() >= this.#end;
  }

  async pause(): Promise<void> {
    await nextTurn();
    this.#end = performance.now() + SLICE_MS;
  }

  /** As `items.map(convert)`, in slices. */
  static async map<T, R>(items: Iterable<T>, convert: (item: T) => R): Promise<R[]> {
    const slices = new TimeSlices();
    const results: R[] = [];
    for (const item of items) {
      if (slices.isOver) await slices.pause();
      results.push(convert(item));
    }
    return results;
  }

  /** As `items.filter(keeps)`, in slices. */
  static async filter<T>(items: Iterable<T>, keeps: (item: T) => boolean): Promise<T[]> {
    const slices = new TimeSlices();
    const results: T[] = [];
    for (const item of items) {
      if (slices.isOver) await slices.pause();
      if (keeps(item)) results.push(item);
    }
    return results;
  }
}
