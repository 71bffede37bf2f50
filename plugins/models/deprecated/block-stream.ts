/** A stream of content blocks (Anthropic's Messages, Bedrock's Converse) as chunks in OpenAI's form. */
import type { ChunkWriter } from "./chunk-writer.ts";
import {
  type BlockOptions,
  carryThinking,
  clientCallId,
  type ThinkingBlock,
  toldArguments,
} from "portico/provider";

/** Blocks are named by their index; several may be open. */
interface BlockStream {
  /** Begins a call. `input`: its arguments, where no fragments follow. */
  toolCall(block: number, id: string | undefined, name: string | undefined, input?: unknown): void;
  toolArguments(block: number, fragment: string): void;
  reasoning(block: number, text: string): void;
  signature(block: number, text: string): void;
  /** Reasoning that nobody but the upstream can read. */
  sealed(data: string): void;
  end(block: number): void;
  /** Ends blocks that were never closed: their calls still need arguments. Tells whether there were calls. */
  endAll(): boolean;
}

/** A block whose end has not come yet. */
interface OpenBlock {
  /** Its place among the calls; -1 for what is none. */
  call: number;
  input: unknown;
  fragments: boolean;
  thinking: string;
  signature: string;
}

export function createBlockStream(
  out: () => ChunkWriter,
  { origin, names }: BlockOptions,
): BlockStream {
  const blocks = new Map<number, OpenBlock>();
  const thinking: ThinkingBlock[] = [];
  let calls = 0;

  /** Some blocks begin without a start of their own. */
  function open(block: number): OpenBlock {
    let found = blocks.get(block);
    if (found === undefined) {
      found = { call: -1, input: undefined, fragments: false, thinking: "", signature: "" };
      blocks.set(block, found);
    }
    return found;
  }

  function end(block: number): void {
    const ended = blocks.get(block);
    if (ended === undefined) return;
    blocks.delete(block);
    const { call, input, fragments, signature } = ended;
    if (call >= 0 && !fragments) out().toolArguments(call, toldArguments(input));
    if (signature !== "") thinking.push({ text: ended.thinking, signature });
  }

  return {
    toolCall(block, id, name = "", input) {
      const begun = open(block);
      begun.call = calls++;
      begun.input = input;
      out().toolCall(begun.call, clientCallId(id), names.original(name));
    },
    toolArguments(block, fragment) {
      const begun = open(block);
      if (begun.call < 0) return;
      begun.fragments ||= fragment.trim() !== "";
      out().toolArguments(begun.call, fragment);
    },
    reasoning(block, text) {
      open(block).thinking += text;
      out().reasoning(text);
    },
    signature(block, text) {
      open(block).signature += text;
    },
    sealed: (data) => thinking.push({ sealed: data }),
    end,
    endAll() {
      for (const block of [...blocks.keys()]) end(block);
      // Only a loop of calls needs the signatures again.
      if (calls > 0 && thinking.length > 0)
        out().delta({ extra_content: carryThinking(origin, thinking) });
      return calls > 0;
    },
  };
}
