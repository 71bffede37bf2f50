/** A map for keys that come from outside: its number of entries and its size in memory are limited. */

export interface Bounds<V> {
  maxEntries: number;
  /** The approximate size of keys and values; default 1 MB. */
  maxBytes?: number;
  /** The size of a value in bytes, without its key; default 64. */
  sizeOf?: (value: V) => number;
}

const DEFAULT_MAX_BYTES = 1_000_000;
const DEFAULT_VALUE_BYTES = 64;
const BYTES_PER_CHARACTER = 2;

/** A map with string keys that drops the entry that was set longest ago when it would exceed its limits. */
export class BoundedMap<V> extends Map<string, V> {
  readonly #maxEntries: number;
  readonly #maxBytes: number;
  readonly #sizeOf: (value: V) => number;
  #bytes = 0;

  constructor({ maxEntries, maxBytes = DEFAULT_MAX_BYTES, sizeOf }: Bounds<V>) {
    super();
    this.#maxEntries = maxEntries;
    this.#maxBytes = maxBytes;
    this.#sizeOf = sizeOf ?? (() => DEFAULT_VALUE_BYTES);
  }

  /** Does not keep an entry that alone exceeds the limits. */
  override set(key: string, value: V): this {
    this.delete(key);
    super.set(key, value);
    this.#bytes += this.#weigh(key, value);
    for (const oldest of this.keys()) {
      if (this.size <= this.#maxEntries && this.#bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
    return this;
  }

  override delete(key: string): boolean {
    const value = this.get(key);
    if (value !== undefined || this.has(key)) this.#bytes -= this.#weigh(key, value as V);
    return super.delete(key);
  }

  override clear(): void {
    super.clear();
    this.#bytes = 0;
  }

  #weigh(key: string, value: V): number {
    return key.length * BYTES_PER_CHARACTER + this.#sizeOf(value);
  }
}
