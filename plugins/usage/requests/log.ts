/** Gathers the lines of single requests in memory until they are written, as blocks. */
import type { Logger } from "portico";
import type { ChatRecord } from "portico/models";
import type { NewRequestBlock } from "portico/store";
import { type Entry, LONGEST_LINE, writeHead, writeLine } from "./lines.ts";

/** A block is full at this; some two thousand requests. */
const BLOCK_BYTES = 256 * 1024;
/** So many requests wait for a store that fails. */
const MOST_WAITING = 50_000;

export class RequestLog {
  /** Requests that were dropped because too many waited. */
  lost = 0;
  readonly #log: Logger;
  /** The same bytes for one block after the other. */
  readonly #bytes = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #length = 0;
  #requests = 0;
  #base = 0;
  #firstAt = 0;
  #lastAt = 0;
  #waiting: NewRequestBlock[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /** True where a block has become full, and should be written soon. */
  add(record: ChatRecord, entry: Entry): boolean {
    const { at } = entry;
    if (this.#requests === 0) {
      this.#base = this.#firstAt = this.#lastAt = at;
      this.#length = writeHead(this.#bytes, at);
    } else if (at > this.#lastAt) this.#lastAt = at;
    else if (at < this.#firstAt) this.#firstAt = at;
    this.#length = writeLine(this.#bytes, this.#length, this.#base, record, entry);
    this.#requests++;
    const full = this.#length > BLOCK_BYTES - LONGEST_LINE;
    if (full) this.#cut();
    return full;
  }

  /** All that waits, the oldest first. It waits no longer. */
  take(): NewRequestBlock[] {
    this.#cut();
    const blocks = this.#waiting;
    this.#waiting = [];
    return blocks;
  }

  /** What was taken and could not be written waits again. */
  putBack(blocks: readonly NewRequestBlock[]): void {
    this.#waiting = [...blocks, ...this.#waiting];
    this.#dropOldest();
  }

  #cut(): void {
    if (this.#requests === 0) return;
    this.#waiting.push({
      requests: this.#requests,
      firstAt: this.#firstAt,
      lastAt: this.#lastAt,
      lines: this.#bytes.toString("latin1", 0, this.#length),
    });
    this.#requests = 0;
    this.#dropOldest();
  }

  #dropOldest(): void {
    let waiting = 0;
    for (const { requests } of this.#waiting) waiting += requests;
    while (waiting > MOST_WAITING) {
      if (this.lost === 0)
        this.#log.error(
          "single requests are lost, the oldest first: the store has not accepted any for too long",
        );
      const { requests } = this.#waiting.shift()!;
      waiting -= requests;
      this.lost += requests;
    }
  }
}
