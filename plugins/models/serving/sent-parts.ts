/** Accumulates the parts of a stream that were sent, for reports and for counting. */
import type { StreamPart, Usage } from "portico/provider";
import { StreamedOutput } from "./usage.ts";

export class SentParts {
  readonly output = new StreamedOutput();
  /** The usage that the upstream reported so far. */
  usage: Usage | undefined;
  /** Finish reason of the first choice that ended. */
  finishReason: string | undefined;
  /** Text of the first choice, if `keepsText` is set. */
  text = "";
  readonly #keepsText: boolean;

  constructor(keepsText: boolean) {
    this.#keepsText = keepsText;
  }

  add(parts: readonly StreamPart[]): void {
    this.output.add(parts);
    for (const part of parts) {
      if (part.type === "usage") this.usage = part.usage;
      else if (part.type === "finish") this.finishReason ??= part.reason;
      else if (part.type === "text" && part.choice === 0 && this.#keepsText) this.text += part.text;
    }
  }
}
