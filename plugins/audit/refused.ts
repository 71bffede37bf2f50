/** Attempts by principals other than the owner. Anyone can make many of them, so similar ones are counted in one entry. */
import { randomBytes } from "node:crypto";
import type { NewEntry } from "./entry.ts";
import type { Trail } from "./trail.ts";

/** Similar attempts within this time become one entry. */
const SPAN_MS = 60_000;
/** The number of different entries in one span. All further attempts become one entry. */
const MAX_PER_SPAN = 100;

interface AttemptCounter {
  id: string;
  at: number;
  entry: NewEntry;
  count: number;
  written: number;
}

export class RefusedAttempts {
  readonly #trail: Trail;
  #span = 0;
  #counters = new Map<string, AttemptCounter>();

  constructor(trail: Trail) {
    this.#trail = trail;
  }

  /** Counts an attempt. The first of its kind is written at once, its count with the next `flush`. */
  async add(entry: NewEntry): Promise<void> {
    const at = this.#trail.now();
    const span = Math.floor(at / SPAN_MS);
    if (span !== this.#span) await this.#startSpan(span);
    const counter = this.#findOrCreateCounter(entry, at);
    counter.count += 1;
    if (counter.count === 1) await this.#write(counter);
  }

  flush(): Promise<void> {
    return this.#writeCounts(this.#counters);
  }

  /**
   * Starts a new span, before it writes the counts of the previous one, so that concurrent attempts are counted together.
   */
  #startSpan(span: number): Promise<void> {
    const previousCounters = this.#counters;
    this.#span = span;
    this.#counters = new Map();
    return this.#writeCounts(previousCounters);
  }

  async #writeCounts(all: ReadonlyMap<string, AttemptCounter>): Promise<void> {
    for (const counter of all.values())
      if (counter.written < counter.count) await this.#write(counter);
  }

  #findOrCreateCounter(entry: NewEntry, at: number): AttemptCounter {
    const kind = `${entry.principal} ${entry.address} ${entry.action} ${entry.error?.code}`;
    const existing = this.#counters.get(kind);
    if (existing) return existing;
    const isFull = this.#counters.size >= MAX_PER_SPAN;
    const rest = isFull ? this.#counters.get("others") : undefined;
    if (rest) return rest;
    const id = `out_${randomBytes(12).toString("base64url")}`;
    const shownEntry = isFull
      ? { ...entry, action: "other actions in this minute", address: undefined }
      : entry;
    const counter = { id, at, entry: shownEntry, count: 0, written: 0 };
    this.#counters.set(isFull ? "others" : kind, counter);
    return counter;
  }

  async #write(counter: AttemptCounter): Promise<void> {
    const { id, at, entry, count } = counter;
    counter.written = count;
    await this.#trail.add({ ...entry, count: count > 1 ? count : undefined }, { id, at });
  }
}
