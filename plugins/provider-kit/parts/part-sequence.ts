/**
 * Puts the parts of a stream into the order that formats of blocks and items need: a call ends before anything else
 * begins. Upstreams of OpenAI's format send texts, and fragments of other calls, between the fragments of a call.
 */
import type { StreamPart } from "../types/parts.ts";
import { ResponseTooLarge } from "../stream/response-too-large.ts";
import { JsonProgress } from "./json-progress.ts";
import { partSize } from "./part-size.ts";

/** The limit for the total size of the parts that wait for a call to be complete. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

type CallArguments = Extract<StreamPart, { type: "tool-arguments" }>;

/** The call that is being written. */
interface OpenCall {
  index: number;
  args: JsonProgress;
  /** True for arguments of free text, whose end only the next part shows. */
  isCustom: boolean;
}

/** A part that waits. The arguments of a call wait together with the part that begins the call. */
interface WaitingPart {
  first: StreamPart;
  args: CallArguments[];
}

/** Orders the parts of one choice. Parts of other choices are written at once. */
export class PartSequence {
  readonly #choice: number;
  readonly #write: (part: StreamPart) => void;
  #open: OpenCall | undefined;
  /** The parts that arrived before the open call was complete, in order, and how many of them are already written. */
  #waiting: WaitingPart[] = [];
  #writtenCount = 0;
  /** The total size of the parts that have had to wait since the list was last empty. */
  #waitingBytes = 0;
  /** The waiting parts that begin a call, by its index. */
  readonly #waitingCalls = new Map<number, WaitingPart>();

  /** `write` takes the parts in their new order. */
  constructor(write: (part: StreamPart) => void, choice = 0) {
    this.#write = write;
    this.#choice = choice;
  }

  /** Throws `ResponseTooLarge` if the parts that wait for a call exceed the limit. `end` still writes those that wait. */
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

  /** Writes the parts that still wait. No call is completed any more. */
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
    if (this.#waitingBytes > MAX_WAITING_BYTES) throw tooMuchWaiting();
    const call = part.type === "tool-arguments" ? this.#waitingCalls.get(part.index) : undefined;
    if (call !== undefined) {
      call.args.push(part as CallArguments);
      return;
    }
    const waiting: WaitingPart = { first: part, args: [] };
    this.#waiting.push(waiting);
    if (part.type === "tool-call") this.#waitingCalls.set(part.index, waiting);
  }

  /** Writes the first part that waits and, for a call, the arguments that have arrived. */
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

function tooMuchWaiting(): ResponseTooLarge {
  return new ResponseTooLarge(
    `The upstream sent more than ${MAX_WAITING_BYTES >> 20} MiB after a tool call whose arguments are still incomplete.`,
  );
}
