/** Splits long work into time slices, so that the event loop can process other work between them. */
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

  /** Works like `items.map(convert)`, in time slices. */
  static async map<T, R>(items: Iterable<T>, convert: (item: T) => R): Promise<R[]> {
    const slices = new TimeSlices();
    const results: R[] = [];
    for (const item of items) {
      if (slices.isOver) await slices.pause();
      results.push(convert(item));
    }
    return results;
  }

  /** Works like `items.filter(predicate)`, in time slices. */
  static async filter<T>(items: Iterable<T>, predicate: (item: T) => boolean): Promise<T[]> {
    const slices = new TimeSlices();
    const results: T[] = [];
    for (const item of items) {
      if (slices.isOver) await slices.pause();
      if (predicate(item)) results.push(item);
    }
    return results;
  }
}
