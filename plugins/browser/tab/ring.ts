/** A buffer of the last `size` items, oldest first. */
export class Ring<T> {
  readonly #size: number;
  #items: T[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  push(item: T): void {
    this.#items.push(item);
    // Trim in blocks, because removing items one by one would cost a copy for each.
    if (this.#items.length > this.#size * 2) this.#items = this.#items.slice(-this.#size);
  }

  list(): readonly T[] {
    return this.#items.slice(-this.#size);
  }

  clear(): void {
    this.#items = [];
  }
}
