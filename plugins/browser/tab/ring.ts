/** The last `size` things, oldest first. */
export class Ring<T> {
  readonly #size: number;
  #items: T[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  push(item: T): void {
    this.#items.push(item);
    // Cut in blocks: shifting one by one would cost a copy for each item.
    if (this.#items.length > this.#size * 2) this.#items = this.#items.slice(-this.#size);
  }

  list(): readonly T[] {
    return this.#items.slice(-this.#size);
  }

  clear(): void {
    this.#items = [];
  }
}
