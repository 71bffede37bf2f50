/** What has gone out of a stream, for reports and for counting. */
import type { StreamPart, Usage } from "portico/provider";
import { StreamedOutput } from "./usage.ts";

export class SeenParts {
  readonly output = new StreamedOutput();
  /** As far as the upstream has told it. */
  usage: Usage | undefined;
  /** Of the first choice that ended. */
  finishReason: string | undefined;
  /** Of the first choice, where somebody listens. */
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
