/** Converts a stream of content blocks (Anthropic's Messages, Bedrock's Converse) to parts. */
import { completeArguments } from "../response/arguments.ts";
import type { PartWriter } from "./part-writer.ts";
import type { TrackedCall } from "./tool-calls.ts";

/** A block that has not ended yet. */
interface OpenBlock {
  call: TrackedCall | undefined;
  /** The arguments of the call, used if no fragments follow. */
  input: unknown;
  reasoning: string;
  signature: string;
}

/** Blocks are identified by their index. Several may be open at the same time. */
export class ContentBlocks {
  readonly #out: PartWriter;
  readonly #origin: string;
  readonly #openBlocks = new Map<number, OpenBlock>();

  /** `origin` names the models that accept the signatures: see `originOf`. */
  constructor(out: PartWriter, origin: string) {
    this.#out = out;
    this.#origin = origin;
  }

  /** True if the response has calls. */
  get called(): boolean {
    return this.#out.calls().any;
  }

  toolCall(block: number, id: string | undefined, name = "", input?: unknown): void {
    const openBlock = this.#blockAt(block);
    openBlock.call = this.#out.calls().start(id, name);
    openBlock.input = input;
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

  /** Adds reasoning that only the upstream can read. */
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
    const openBlock = this.#openBlocks.get(block);
    if (openBlock === undefined) return;
    this.#openBlocks.delete(block);
    const { call, input, reasoning, signature } = openBlock;
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

  /** Ends the blocks that the upstream never closed, because their calls still need arguments. */
  endAll(): void {
    for (const block of [...this.#openBlocks.keys()]) this.end(block);
  }

  #endCall(call: TrackedCall, input: unknown): void {
    const calls = this.#out.calls();
    if (call.args.trim() === "" && !isEmpty(input)) calls.append(call, completeArguments(input));
    calls.end(call);
  }

  /** Returns the open block with this index, or opens it: some blocks begin without a start event. */
  #blockAt(block: number): OpenBlock {
    let openBlock = this.#openBlocks.get(block);
    if (openBlock === undefined) {
      openBlock = { call: undefined, input: undefined, reasoning: "", signature: "" };
      this.#openBlocks.set(block, openBlock);
    }
    return openBlock;
  }
}

/** True for arguments that the tracker of calls completes by itself. */
function isEmpty(input: unknown): boolean {
  if (input == null || input === "") return true;
  return typeof input === "object" && Object.keys(input).length === 0;
}
