/** Holds the newest entries, limited by number, size and age. */

export interface RingEntry {
  /** Milliseconds since 1970. */
  readonly endedAt: number;
  /** An estimate of the memory that the entry takes. */
  readonly bytes: number;
}

export interface RingLimits {
  keep: number;
  keepBytes: number;
  keepHours: number;
}

const HOUR_MS = 3_600_000;
/** Removed entries at the beginning are cut off in blocks, since each cut copies all entries behind them. */
const BLOCK = 1024;

/** The entries: plain data, which survives a reload of the plugin. */
export interface RingEntries<T extends RingEntry> {
  /** Entries, oldest first; those before `first` are removed. */
  all: (T | undefined)[];
  first: number;
  bytes: number;
}

export class Ring<T extends RingEntry> {
  #limits: RingLimits;
  readonly #entries: RingEntries<T>;

  constructor(limits: RingLimits, entries: RingEntries<T>) {
    this.#limits = limits;
    this.#entries = entries;
    this.#trim();
  }

  configure(limits: RingLimits): void {
    this.#limits = limits;
    this.#trim();
  }

  add(entry: T): void {
    this.#entries.all.push(entry);
    this.#entries.bytes += entry.bytes;
    this.#trim();
  }

  /** Yields the entries that are not too old, newest first. */
  *newest(now: number): Generator<T> {
    const oldest = now - this.#limits.keepHours * HOUR_MS;
    for (let i = this.#entries.all.length - 1; i >= this.#entries.first; i--) {
      const entry = this.#entries.all[i] as T;
      if (entry.endedAt >= oldest) yield entry;
    }
  }

  /** Removes entries that are too old. */
  expire(now: number): void {
    const oldest = now - this.#limits.keepHours * HOUR_MS;
    while (
      this.#entries.first < this.#entries.all.length &&
      this.#entries.all[this.#entries.first]!.endedAt < oldest
    )
      this.#drop();
  }

  #trim(): void {
    const { keep, keepBytes } = this.#limits;
    while (this.#entries.all.length - this.#entries.first > keep) this.#drop();
    while (this.#entries.bytes > keepBytes && this.#entries.first < this.#entries.all.length)
      this.#drop();
  }

  #drop(): void {
    const entries = this.#entries;
    entries.bytes -= entries.all[entries.first]!.bytes;
    entries.all[entries.first++] = undefined;
    if (entries.first < BLOCK) return;
    entries.all.splice(0, entries.first);
    entries.first = 0;
  }
}
