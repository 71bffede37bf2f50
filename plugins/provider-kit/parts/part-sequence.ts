/**
 * Puts the parts of a stream into the order that formats of blocks and items need: a call is written to its end before
 * anything else begins. Upstreams of OpenAI's format send texts, and fragments of other calls, between those of a call.
 */
import type { StreamPart } from "../types/parts.ts";
import { ResponseTooLarge } from "../stream/response-too-large.ts";
import { JsonProgress } from "./json-progress.ts";
import { partSize } from "./part-size.ts";

/** The size of all parts that may wait for a call to be complete. */
const MOST_WAITING_BYTES = 32 * 1024 * 1024;

type CallArguments = Extract<StreamPart, { type: "tool-arguments" }>;

/** The call that is being written. */
interface OpenCall {
  index: number;
  args: JsonProgress;
  /** Its arguments are any text, so that only the next part shows where they end. */
  isCustom: boolean;
}

/** A part that waits; the arguments of a call wait behind its beginning. */
interface WaitingPart {
  first: StreamPart;
  args: CallArguments[];
}

/** For one choice. Parts of others are written at once. */
export class PartSequence {
  readonly #choice: number;
  readonly #write: (part: StreamPart) => void;
  #open: OpenCall | undefined;
  /** Parts that came before the open call was complete, in their order, and how many of them are written already. */
  #waiting: WaitingPart[] = [];
  #writtenCount = 0;
  /** The size of the parts that came since nothing waited. */
  #waitingBytes = 0;
  /** Those of them that begin a call, by its index. */
  readonly #waitingCalls = new Map<number, WaitingPart>();

  /** `write` takes the parts in their new order. */
  constructor(write: (part: StreamPart) => void, choice = 0) {
    this.#write = write;
    this.#choice = choice;
  }

  /** Throws `ResponseTooLarge` where more waits for a call than may be kept in memory; `end` still writes it. */
  add(part: StreamPart): void {
    if (!("choice" in part) || part.choice !== this.#choice) this.#write(part);
    else if (part.type === "finish") this.#finish(part);
    else if (part.type === "tool-arguments" && part.index === this.#open?.index)
      this.#continue(this.#open, part);
    else if (this.#isWaiting || this.#isIncomplete()) this.#wait(part);
    else this.#begin(part);
  }

  get #isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Writes what still waits: no call is completed any more. */
  end(): void {
    while (this.#isWaiting) this.#writeNext();
    this.#open = undefined;
  }

  #finish(part: StreamPart): void {
    this.end();
    this.#write(part);
  }

  #continue(open: OpenCall, part: CallArguments): void {
    open.args.add(part.text);
    this.#write(part);
    while (this.#isWaiting && !this.#isIncomplete()) this.#writeNext();
  }

  #isIncomplete(): boolean {
    const open = this.#open;
    return open !== undefined && !open.isCustom && !open.args.isComplete();
  }

  #wait(part: StreamPart): void {
    this.#waitingBytes += partSize(part);
    if (this.#waitingBytes > MOST_WAITING_BYTES) throw waitsForCall();
    const call = part.type === "tool-arguments" ? this.#waitingCalls.get(part.index) : undefined;
    if (call !== undefined) {
      call.args.push(part as CallArguments);
      return;
    }
    const waiting: WaitingPart = { first: part, args: [] };
    this.#waiting.push(waiting);
    if (part.type === "tool-call") this.#waitingCalls.set(part.index, waiting);
  }

  /** Writes the first part that waits; of a call, what is known of its arguments too. */
  #writeNext(): void {
    const { first, args } = this.#waiting[this.#writtenCount] as WaitingPart;
    this.#writtenCount++;
    if (this.#writtenCount === this.#waiting.length) this.#stopWaiting();
    if (first.type === "tool-call") this.#waitingCalls.delete(first.index);
    this.#begin(first);
    for (const part of args) {
      this.#open?.args.add(part.text);
      this.#write(part);
    }
  }

  #stopWaiting(): void {
    this.#waiting = [];
    this.#writtenCount = 0;
    this.#waitingBytes = 0;
  }

  #begin(part: StreamPart): void {
    if (part.type === "tool-call") {
      const isCustom = part.custom === true;
      this.#open = { index: part.index, args: new JsonProgress(), isCustom };
    } else if (part.type !== "raw") this.#open = undefined;
    this.#write(part);
  }
}

function waitsForCall(): ResponseTooLarge {
  return new ResponseTooLarge(
    `The upstream sent more than ${MOST_WAITING_BYTES >> 20} MiB behind a tool call whose arguments it has not completed.`,
  );
}
