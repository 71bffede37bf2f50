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

export class Ring<T extends Kept> {
  #limits: RingLimits;
  /** The oldest first; those before `#first` were removed. */
  #entries: (T | undefined)[] = [];
  #first = 0;
  #bytes = 0;

  constructor(limits: RingLimits) {
    this.#limits = limits;
  }

  configure(limits: RingLimits): void {
    this.#limits = limits;
    this.#trim();
  }

  add(entry: T): void {
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
    this.#trim();
  }

  /** The newest first. */
  *newest(now: number): Generator<T> {
    const oldest = now - this.#limits.keepHours * HOUR_MS;
    for (let i = this.#entries.length - 1; i >= this.#first; i--) {
      const entry = this.#entries[i] as T;
      if (entry.endedAt >= oldest) yield entry;
    }
  }

  /** Lets go of what is too old. */
  expire(now: number): void {
    const oldest = now - this.#limits.keepHours * HOUR_MS;
    while (this.#first < this.#entries.length && this.#entries[this.#first]!.endedAt < oldest)
      this.#drop();
  }

  #trim(): void {
    const { keep, keepBytes } = this.#limits;
    while (this.#entries.length - this.#first > keep) this.#drop();
    while (this.#bytes > keepBytes && this.#first < this.#entries.length) this.#drop();
  }

  #drop(): void {
    this.#bytes -= this.#entries[this.#first]!.bytes;
    this.#entries[this.#first++] = undefined;
    if (this.#first < BLOCK) return;
    this.#entries.splice(0, this.#first);
    this.#first = 0;
  }
}
