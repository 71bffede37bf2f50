/** Converts a whole response in content blocks (Anthropic's Messages, Bedrock's Converse) to one message in OpenAI's form. */
import { clientCallId } from "./call-ids.ts";
import { carryThinking, type ThinkingBlock } from "./carry.ts";
import { completeArguments } from "./arguments.ts";
import { assistantMessage } from "./write-completion.ts";
import type { ToolNames } from "../request/tool-names.ts";
import type { ChatMessage, ToolCallPart } from "../types/format.ts";

/** The facts about a request that decoding its response in blocks requires. */
export interface BlockOptions {
  /** Identifies the models that accept the signatures of its reasoning: see `originOf`. */
  origin: string;
  names: ToolNames;
}

interface CollectedBlocks {
  text(text: string): void;
  /** Adds reasoning with its signature, if it has one. */
  reasoning(text: string | undefined, signature: string | undefined): void;
  /** Adds reasoning that only the upstream can read. */
  sealed(data: string): void;
  call(id: string | undefined, name: string | undefined, input: unknown): void;
  called(): boolean;
  message(): ChatMessage;
}

/** Creates a collector of blocks. `idOf` returns the id of a call for the client. */
export function collectBlocks(
  { origin, names }: BlockOptions,
  idOf: (id: string | undefined) => string = clientCallId,
): CollectedBlocks {
  const texts: string[] = [];
  const reasoning: string[] = [];
  const thinking: ThinkingBlock[] = [];
  const calls: ToolCallPart[] = [];
  return {
    text: (text) => texts.push(text),
    reasoning(text, signature) {
      if (text) reasoning.push(text);
      if (signature) thinking.push({ text: text ?? "", signature });
    },
    sealed: (data) => thinking.push({ sealed: data }),
    call(id, name = "", input) {
      const fn = { name: names.original(name), arguments: completeArguments(input) };
      calls.push({ id: idOf(id), type: "function", function: fn });
    },
    called: () => calls.length > 0,
    message: () => ({
      ...assistantMessage({ text: texts.join(""), reasoning: reasoning.join("\n"), calls }),
      // Only a loop of calls requires the signatures again.
      extra_content:
        calls.length > 0 && thinking.length > 0 ? carryThinking(origin, thinking) : undefined,
    }),
  };
}
