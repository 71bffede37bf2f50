/** Refused attempts of everybody but the owner. Anybody can make many of them, so those that are alike are counted. */
import { randomBytes } from "node:crypto";
import type { NewEntry } from "./entry.ts";
import type { Trail } from "./trail.ts";

/** Attempts that are alike within this are one entry. */
const SPAN_MS = 60_000;
/** So many different ones in one span; the rest is one entry. */
const MOST_PER_SPAN = 100;

interface Counted {
  id: string;
  at: number;
  entry: NewEntry;
  count: number;
  written: number;
}

export class RefusedAttempts {
  readonly #trail: Trail;
  #span = 0;
  #counted = new Map<string, Counted>();

  constructor(trail: Trail) {
    this.#trail = trail;
  }

  /** The first of its kind is written at once, its count with the next `flush`. */
  async add(entry: NewEntry): Promise<void> {
    const at = this.#trail.now();
    const span = Math.floor(at / SPAN_MS);
    if (span !== this.#span) await this.#begin(span);
    const counted = this.#counterOf(entry, at);
    counted.count += 1;
    if (counted.count === 1) await this.#write(counted);
  }

  flush(): Promise<void> {
    return this.#writeCounts(this.#counted);
  }

  /** The new span begins before the first write, so that attempts that come together are counted together. */
  #begin(span: number): Promise<void> {
    const before = this.#counted;
    this.#span = span;
    this.#counted = new Map();
    return this.#writeCounts(before);
  }

  async #writeCounts(all: ReadonlyMap<string, Counted>): Promise<void> {
    for (const counted of all.values())
      if (counted.written < counted.count) await this.#write(counted);
  }

  #counterOf(entry: NewEntry, at: number): Counted {
    const kind = `${entry.principal} ${entry.address} ${entry.action} ${entry.error?.code}`;
    const known = this.#counted.get(kind);
    if (known) return known;
    const isFull = this.#counted.size >= MOST_PER_SPAN;
    const rest = isFull ? this.#counted.get("others") : undefined;
    if (rest) return rest;
    const id = `out_${randomBytes(12).toString("base64url")}`;
    const shownEntry = isFull
      ? { ...entry, action: "others of this minute", address: undefined }
      : entry;
    const counted = { id, at, entry: shownEntry, count: 0, written: 0 };
    this.#counted.set(isFull ? "others" : kind, counted);
    return counted;
  }

  async #write(counted: Counted): Promise<void> {
    const { id, at, entry, count } = counted;
    counted.written = count;
    await this.#trail.add({ ...entry, count: count > 1 ? count : undefined }, { id, at });
  }
}
