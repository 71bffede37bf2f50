/**
 * Puts the parts of a stream into the order that formats of blocks and items need: a call is written to its end before
 * anything else begins. Upstreams of OpenAI's format send texts, and fragments of other calls, between those of a call.
 */
import type { StreamPart } from "../types/parts.ts";
import { JsonProgress } from "./json-progress.ts";

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
  /** Parts that came before the open call was complete, in their order. */
  readonly #waiting: WaitingPart[] = [];
  /** Those of them that begin a call, by its index. */
  readonly #waitingCalls = new Map<number, WaitingPart>();

  /** `write` takes the parts in their new order. */
  constructor(write: (part: StreamPart) => void, choice = 0) {
    this.#write = write;
    this.#choice = choice;
  }

  add(part: StreamPart): void {
    if (!("choice" in part) || part.choice !== this.#choice) this.#write(part);
    else if (part.type === "finish") this.#finish(part);
    else if (part.type === "tool-arguments" && part.index === this.#open?.index)
      this.#continue(this.#open, part);
    else if (this.#waiting.length > 0 || this.#isIncomplete()) this.#wait(part);
    else this.#begin(part);
  }

  /** Writes what still waits: no call is completed any more. */
  end(): void {
    while (this.#waiting.length > 0) this.#writeNext();
    this.#open = undefined;
  }

  #finish(part: StreamPart): void {
    this.end();
    this.#write(part);
  }

  #continue(open: OpenCall, part: CallArguments): void {
    open.args.add(part.text);
    this.#write(part);
    while (this.#waiting.length > 0 && !this.#isIncomplete()) this.#writeNext();
  }

  #isIncomplete(): boolean {
    const open = this.#open;
    return open !== undefined && !open.isCustom && !open.args.isComplete();
  }

  #wait(part: StreamPart): void {
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
    const { first, args } = this.#waiting.shift() as WaitingPart;
    if (first.type === "tool-call") this.#waitingCalls.delete(first.index);
    this.#begin(first);
    for (const part of args) {
      this.#open?.args.add(part.text);
      this.#write(part);
    }
  }

  #begin(part: StreamPart): void {
    if (part.type === "tool-call") {
      const isCustom = part.custom === true;
      this.#open = { index: part.index, args: new JsonProgress(), isCustom };
    } else if (part.type !== "raw") this.#open = undefined;
    this.#write(part);
  }
}
