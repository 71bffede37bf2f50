/** Collects the signatures of reasoning, for formats in which the client's conversation carries them: see `carryThinking`. */
import { carryThinking, type ThinkingBlock } from "../response/carry.ts";
import type { SignaturePart } from "../types/parts.ts";

export class SignedReasoning {
  readonly #blocks: ThinkingBlock[] = [];
  #origin = "";

  add({ data, text, redacted, origin }: SignaturePart): void {
    this.#origin = origin;
    this.#blocks.push(redacted === true ? { sealed: data } : { text, signature: data });
  }

  /** Returns `extra_content` of a message that has calls: only a loop of calls requires the signatures again. */
  extraContent(hasCalls: boolean): Record<string, unknown> | undefined {
    if (!hasCalls || this.#blocks.length === 0) return undefined;
    return carryThinking(this.#origin, this.#blocks);
  }
}
