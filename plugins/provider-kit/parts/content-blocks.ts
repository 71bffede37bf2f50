/** A stream of content blocks (Anthropic's Messages, Bedrock's Converse) as parts. */
import { completeArguments } from "../response/arguments.ts";
import type { PartWriter } from "./part-writer.ts";
import type { TrackedCall } from "./tool-calls.ts";

/** A block whose end has not come yet. */
interface OpenBlock {
  call: TrackedCall | undefined;
  /** The arguments of the call, where no fragments follow. */
  input: unknown;
  reasoning: string;
  signature: string;
}

/** Blocks are named by their index; several may be open. */
export class ContentBlocks {
  readonly #out: PartWriter;
  readonly #origin: string;
  readonly #open = new Map<number, OpenBlock>();

  /** `origin`: the models that accept the signatures. */
  constructor(out: PartWriter, origin: string) {
    this.#out = out;
    this.#origin = origin;
  }

  /** There were calls. */
  get called(): boolean {
    return this.#out.calls().any;
  }

  toolCall(block: number, id: string | undefined, name = "", input?: unknown): void {
    const begun = this.#blockAt(block);
    begun.call = this.#out.calls().start(id, name);
    begun.input = input;
  }

  toolArguments(block: number, fragment: string): void {
    const { call } = this.#blockAt(block);
    if (call !== undefined) this.#out.calls().append(call, fragment);
  }

  reasoning(block: number, text: string): void {
    this.#blockAt(block).reasoning += text;
    this.#out.reasoning(text);
  }

  signature(block: number, data: string): void {
    this.#blockAt(block).signature += data;
  }

  /** Reasoning that only the upstream can read. */
  sealed(data: string): void {
    this.#out.add({
      type: "reasoning-signature",
      choice: 0,
      data,
      text: "",
      redacted: true,
      origin: this.#origin,
    });
  }

  end(block: number): void {
    const ended = this.#open.get(block);
    if (ended === undefined) return;
    this.#open.delete(block);
    const { call, input, reasoning, signature } = ended;
    if (call !== undefined) this.#endCall(call, input);
    if (signature === "") return;
    this.#out.add({
      type: "reasoning-signature",
      choice: 0,
      data: signature,
      text: reasoning,
      origin: this.#origin,
    });
  }

  /** Ends blocks that were never closed: their calls still need arguments. */
  endAll(): void {
    for (const block of [...this.#open.keys()]) this.end(block);
  }

  #endCall(call: TrackedCall, input: unknown): void {
    const calls = this.#out.calls();
    if (call.args.trim() === "" && !isEmpty(input)) calls.append(call, completeArguments(input));
    calls.end(call);
  }

  /** Some blocks begin without a start of their own. */
  #blockAt(block: number): OpenBlock {
    let open = this.#open.get(block);
    if (open === undefined) {
      open = { call: undefined, input: undefined, reasoning: "", signature: "" };
      this.#open.set(block, open);
    }
    return open;
  }
}

/** What the tracker of calls completes by itself. */
function isEmpty(input: unknown): boolean {
  if (input == null || input === "") return true;
  return typeof input === "object" && Object.keys(input).length === 0;
}
