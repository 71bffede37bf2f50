/** Collects the lines of single requests in memory until they are written as blocks. */
import type { Logger } from "portico";
import type { ChatRecord } from "portico/models";
import type { NewRequestBlock } from "portico/store";
import { type Entry, LONGEST_LINE, writeHead, writeLine } from "./lines.ts";

/** The size of a full block, which holds about two thousand requests. */
const BLOCK_BYTES = 256 * 1024;
/** The number of requests that wait while the store fails. */
const MAX_WAITING = 50_000;

/** The unwritten requests: plain data, which survives a reload of the plugin. */
export interface UnwrittenRequests {
  /** Requests that were dropped because too many waited. */
  lost: number;
  /** The lines of the current block. The next block reuses the buffer. */
  bytes: Buffer;
  length: number;
  requests: number;
  base: number;
  firstAt: number;
  lastAt: number;
  /** Complete blocks, oldest first. */
  waiting: NewRequestBlock[];
}

export function emptyRequests(): UnwrittenRequests {
  return {
    lost: 0,
    bytes: Buffer.allocUnsafeSlow(BLOCK_BYTES),
    length: 0,
    requests: 0,
    base: 0,
    firstAt: 0,
    lastAt: 0,
    waiting: [],
  };
}

export class RequestLog {
  readonly #log: Logger;
  readonly #unwritten: UnwrittenRequests;

  constructor(log: Logger, unwritten: UnwrittenRequests) {
    this.#log = log;
    this.#unwritten = unwritten;
  }

  /** The number of requests that were dropped since `recovered`. */
  get lost(): number {
    return this.#unwritten.lost;
  }

  /** Called when the store accepts requests again. */
  recovered(): void {
    this.#unwritten.lost = 0;
  }

  /** Adds a request. Returns true if a block has become full and should be written soon. */
  add(record: ChatRecord, entry: Entry): boolean {
    const { at } = entry;
    const block = this.#unwritten;
    if (block.requests === 0) {
      block.base = at;
      block.firstAt = at;
      block.lastAt = at;
      block.length = writeHead(block.bytes, at);
    } else if (at > block.lastAt) block.lastAt = at;
    else if (at < block.firstAt) block.firstAt = at;
    block.length = writeLine(block.bytes, block.length, block.base, record, entry);
    block.requests++;
    const isFull = block.length > BLOCK_BYTES - LONGEST_LINE;
    if (isFull) this.#endBlock();
    return isFull;
  }

  /** Removes and returns all waiting blocks, oldest first. */
  take(): NewRequestBlock[] {
    this.#endBlock();
    return this.#unwritten.waiting.splice(0);
  }

  /** Puts blocks that could not be written back at the front. */
  putBack(blocks: readonly NewRequestBlock[]): void {
    this.#unwritten.waiting.unshift(...blocks);
    this.#dropOldest();
  }

  #endBlock(): void {
    const block = this.#unwritten;
    if (block.requests === 0) return;
    block.waiting.push({
      requests: block.requests,
      firstAt: block.firstAt,
      lastAt: block.lastAt,
      lines: block.bytes.toString("latin1", 0, block.length),
    });
    block.requests = 0;
    this.#dropOldest();
  }

  #dropOldest(): void {
    const unwritten = this.#unwritten;
    let count = 0;
    for (const { requests } of unwritten.waiting) count += requests;
    while (count > MAX_WAITING) {
      if (unwritten.lost === 0)
        this.#log.error(
          "the records of the oldest requests were lost, because the store had refused them for too long",
        );
      const { requests } = unwritten.waiting.shift()!;
      count -= requests;
      unwritten.lost += requests;
    }
  }
}
