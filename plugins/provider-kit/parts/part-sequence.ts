/**
 * Puts the parts of a stream into the order that formats of blocks and items need: a call is written to its end before
 * anything else begins. Upstreams of OpenAI's format send texts, and fragments of other calls, between those of a call.
 */
import { isCompleteJson } from "../response/arguments.ts";
import type { StreamPart } from "../types/parts.ts";

/** The call that is being written. */
interface OpenCall {
  index: number;
  args: string;
  /** Its arguments are any text, so that only the next part shows where they end. */
  isCustom: boolean;
}

/** For one choice. Parts of others are written at once. */
export class PartSequence {
  readonly #choice: number;
  readonly #write: (part: StreamPart) => void;
  #open: OpenCall | undefined;
  /** Parts that came before the open call was complete, in their order. */
  #waiting: StreamPart[] = [];

  /** `write` takes the parts in their new order. */
  constructor(write: (part: StreamPart) => void, choice = 0) {
    this.#write = write;
    this.#choice = choice;
  }

  add(part: StreamPart): void {
    if (!("choice" in part) || part.choice !== this.#choice) this.#write(part);
    else if (part.type === "finish") this.#finish(part);
    else if (this.#isOfOpenCall(part)) this.#continue(part);
    else if (this.#isBusy()) this.#waiting.push(part);
    else this.#begin(part);
  }

  /** Writes what still waits: no call is completed any more. */
  end(): void {
    while (this.#waiting.length > 0) this.#release();
    this.#open = undefined;
  }

  #finish(part: StreamPart): void {
    this.end();
    this.#write(part);
  }

  #isOfOpenCall(part: StreamPart): part is Extract<StreamPart, { type: "tool-arguments" }> {
    return part.type === "tool-arguments" && part.index === this.#open?.index;
  }

  #continue(part: Extract<StreamPart, { type: "tool-arguments" }>): void {
    this.#open!.args += part.text;
    this.#write(part);
    while (this.#waiting.length > 0 && !this.#isIncomplete()) this.#release();
  }

  #isBusy(): boolean {
    return this.#waiting.length > 0 || this.#isIncomplete();
  }

  #isIncomplete(): boolean {
    const open = this.#open;
    return open !== undefined && !open.isCustom && !isCompleteJson(open.args);
  }

  /** Writes the parts that wait, up to a call among them that is not complete yet. */
  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#open = undefined;
    for (const part of waiting) this.add(part);
  }

  #begin(part: StreamPart): void {
    if (part.type === "tool-call")
      this.#open = { index: part.index, args: "", isCustom: part.custom === true };
    else if (part.type !== "raw") this.#open = undefined;
    this.#write(part);
  }
}
