/** The provider `echo`, whose responses are sent whole or word by word. */
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
import { choiceCount, type EchoResponse, type MakeValue, respond, textOf } from "./say.ts";
import { wordsOf } from "./words.ts";

/** The number of words that are sent before the event loop runs other work. */
const BURST = 64;

export const echo: ChatProvider = {
  name: "echo",
  description: "Responds with the last user message; needs no key",
  builtinChannel: "echo",
  models: () => ["echo"],

  async complete(request, target): Promise<ChatCompletion> {
    const response = respond(request, target, await loadValueMaker(request));
    if (delayOf(target) > 0) for (const _ of wordsOf(response.text ?? "")) await pause(target);
    const message: ChatMessage = { role: "assistant", content: response.text ?? null };
    if (response.call !== undefined) message.tool_calls = [withoutIndex(response.call)];
    const finish_reason = response.call === undefined ? "stop" : "tool_calls";
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
      usage: usageOf(request, response),
    };
  },

  async *stream(request, target): AsyncGenerator<ChatChunk> {
    const response = respond(request, target, await loadValueMaker(request));
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
      yield chunk({ role: "assistant", content: response.call === undefined ? "" : null });
      if (response.call !== undefined) yield* streamCall(response.call, chunk);
      for await (const word of pacedWords(response.text ?? "", target))
        yield chunk({ content: word });
      yield chunk({}, response.call === undefined ? "stop" : "tool_calls");
    }
    yield { ...head, choices: [], usage: usageOf(request, response) };
  },
};

/** Loads the module that makes values of schemas, which few requests have. */
async function loadValueMaker({ tools, response_format: format }: ChatRequest): Promise<MakeValue> {
  if (tools == null && format == null) return () => ({});
  return (await import("./schema-value.ts")).smallestValue;
}

/** Yields the words, each after the channel's `delayMs`. Without a delay, lets the event loop run other work in between. */
async function* pacedWords(text: string, target: Target): AsyncGenerator<string> {
  let wordCount = 0;
  for (const word of wordsOf(text)) {
    if (delayOf(target) > 0) await pause(target);
    else if (++wordCount % BURST === 0) await setImmediate();
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

/** Estimates usage with four characters per token. */
function usageOf(request: ChatRequest, response: EchoResponse): Usage {
  const tokens = (length: number) => Math.ceil(length / 4);
  const prompt = request.messages.reduce((sum, message) => sum + tokens(textOf(message).length), 0);
  const completion =
    tokens((response.text ?? JSON.stringify(response.call)).length) * choiceCount(request);
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
