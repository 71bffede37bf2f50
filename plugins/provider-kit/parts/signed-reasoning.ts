/** Signatures of reasoning, gathered for formats that let them travel with the conversation: see `carryThinking`. */
import { carryThinking, type ThinkingBlock } from "../response/carry.ts";
import type { SignaturePart } from "../types/parts.ts";

export class SignedReasoning {
  readonly #blocks: ThinkingBlock[] = [];
  #origin = "";

  add({ data, text, redacted, origin }: SignaturePart): void {
    this.#origin = origin;
    this.#blocks.push(redacted === true ? { sealed: data } : { text, signature: data });
  }

  /** `extra_content` of the message. Only a loop of calls needs the signatures again. */
  extraContent(called: boolean): Record<string, unknown> | undefined {
    if (!called || this.#blocks.length === 0) return undefined;
    return carryThinking(this.#origin, this.#blocks);
  }
}
