/** What echo answers, whole or word by word. */
import type {
  ChatChunk,
  ChatCompletion,
  ChatMessage,
  ChatProvider,
  ChatRequest,
  Target,
  ToolCallPart,
  Usage,
} from "portico/provider";
import { setImmediate } from "node:timers/promises";
import { choiceCount, type MakeValue, type Said, say, textOf } from "./say.ts";
import { wordsOf } from "./words.ts";

/** Words that are sent before other requests get their turn. */
const BURST = 64;

export const echo: ChatProvider = {
  name: "echo",
  description: "Responds with the last user message; needs no key",
  builtinChannel: "echo",
  models: () => ["echo"],

  async complete(request, target): Promise<ChatCompletion> {
    const said = say(request, target, await valueMaker(request));
    if (delayOf(target) > 0) for (const _ of wordsOf(said.text ?? "")) await pause(target);
    const message: ChatMessage = { role: "assistant", content: said.text ?? null };
    if (said.call !== undefined) message.tool_calls = [withoutIndex(said.call)];
    const finish_reason = said.call === undefined ? "stop" : "tool_calls";
    const choices = Array.from({ length: choiceCount(request) }, (_, index) => ({
      index,
      message,
      finish_reason,
      logprobs: null,
    }));
    return {
      id: target.id,
      object: "chat.completion",
      created: target.created,
      model: target.model,
      choices,
      usage: usageOf(request, said),
    };
  },

  async *stream(request, target): AsyncGenerator<ChatChunk> {
    const said = say(request, target, await valueMaker(request));
    const head = {
      id: target.id,
      object: "chat.completion.chunk" as const,
      created: target.created,
      model: target.model,
    };
    for (let index = 0; index < choiceCount(request); index++) {
      const chunk = (
        delta: Partial<ChatMessage>,
        finish_reason: string | null = null,
      ): ChatChunk => ({
        ...head,
        choices: [{ index, delta, finish_reason }],
      });
      yield chunk({ role: "assistant", content: said.call === undefined ? "" : null });
      if (said.call !== undefined) yield* streamCall(said.call, chunk);
      for await (const word of pacedWords(said.text ?? "", target)) yield chunk({ content: word });
      yield chunk({}, said.call === undefined ? "stop" : "tool_calls");
    }
    yield { ...head, choices: [], usage: usageOf(request, said) };
  },
};

/** Loaded where a request brings schemas: most do not. */
async function valueMaker({ tools, response_format: format }: ChatRequest): Promise<MakeValue> {
  if (tools == null && format == null) return () => ({});
  return (await import("./schema-value.ts")).smallestValue;
}

/** The words, at the pace of the channel's `delayMs`; others get their turn in between. */
async function* pacedWords(text: string, target: Target): AsyncGenerator<string> {
  let written = 0;
  for (const word of wordsOf(text)) {
    if (delayOf(target) > 0) await pause(target);
    else if (++written % BURST === 0) await setImmediate();
    yield word;
  }
}

function* streamCall(
  call: ToolCallPart,
  chunk: (delta: Partial<ChatMessage>) => ChatChunk,
): Generator<ChatChunk> {
  const args = call.function?.arguments ?? "{}";
  const half = Math.ceil(args.length / 2);
  yield chunk({ tool_calls: [{ ...call, function: { ...call.function, arguments: "" } }] });
  for (const piece of [args.slice(0, half), args.slice(half)]) {
    if (piece !== "") yield chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] });
  }
}

function withoutIndex(call: ToolCallPart): ToolCallPart {
  const { index: _, ...rest } = call;
  return rest;
}

/** About four characters a token. */
function usageOf(request: ChatRequest, said: Said): Usage {
  const tokens = (length: number) => Math.ceil(length / 4);
  const prompt = request.messages.reduce((sum, message) => sum + tokens(textOf(message).length), 0);
  const completion = tokens((said.text ?? JSON.stringify(said.call)).length) * choiceCount(request);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

function delayOf({ options }: Target): number {
  const ms = options["delayMs"];
  return typeof ms === "number" ? ms : 0;
}

/** Waits for the channel's `delayMs`, or until the client disconnects. */
function pause(target: Target): Promise<void> {
  const { signal } = target;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", leave);
      resolve();
    }, delayOf(target));
    const leave = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", leave, { once: true });
  });
}
