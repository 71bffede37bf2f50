/** The newest entries, within a number, a size and an age. */

export interface Kept {
  /** Milliseconds since 1970. */
  readonly endedAt: number;
  /** About how much memory it takes. */
  readonly bytes: number;
}

export interface RingLimits {
  keep: number;
  keepBytes: number;
  keepHours: number;
}

const HOUR_MS = 3_600_000;
/** Removed entries at the beginning are cut off in blocks, because removing them singly copies the rest each time. */
const BLOCK = 1024;

/** Plain data, which a reload of the plugin passes on. */
export interface RingEntries<T extends Kept> {
  /** The oldest first; those before `first` were removed. */
  all: (T | undefined)[];
  first: number;
  bytes: number;
}

export class Ring<T extends Kept> {
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

  /** The newest first. */
  *newest(now: number): Generator<T> {
    const oldest = now - this.#limits.keepHours * HOUR_MS;
    for (let i = this.#entries.all.length - 1; i >= this.#entries.first; i--) {
      const entry = this.#entries.all[i] as T;
      if (entry.endedAt >= oldest) yield entry;
    }
  }

  /** Lets go of what is too old. */
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
