/** What echo answers, whole or word by word. */
import type {
  CallInfo,
  ChatChunk,
  ChatCompletion,
  ChatMessage,
  ChatProvider,
  ChatRequest,
  Target,
  ToolCallPart,
  Usage,
} from "portico/chat";
import { smallest } from "./smallest-value.ts";

interface Said {
  text?: string;
  call?: ToolCallPart;
}

export const echo: ChatProvider = {
  name: "echo",
  description: "Answers with the last user message; needs no key",
  builtinChannel: "echo",
  models: () => [],

  async complete(request, target): Promise<ChatCompletion> {
    const said = say(request, target);
    if (said.text !== undefined) for (const word of words(said.text)) await pause(word, target);
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
    const said = say(request, target);
    const head = {
      id: target.id,
      object: "chat.completion.chunk" as const,
      created: target.created,
      model: target.model,
    };
    for (let index = 0; index < choiceCount(request); index++) {
      const chunk = (delta: Partial<ChatMessage>, finish_reason: string | null = null): ChatChunk => ({
        ...head,
        choices: [{ index, delta, finish_reason }],
      });
      yield chunk({ role: "assistant", content: said.call === undefined ? "" : null });
      if (said.call !== undefined) yield* streamCall(said.call, chunk);
      for (const word of words(said.text ?? "")) {
        await pause(word, target);
        yield chunk({ content: word });
      }
      yield chunk({}, said.call === undefined ? "stop" : "tool_calls");
    }
    yield { ...head, choices: [], usage: usageOf(request, said) };
  },
};

function* streamCall(call: ToolCallPart, chunk: (delta: Partial<ChatMessage>) => ChatChunk): Generator<ChatChunk> {
  const args = call.function?.arguments ?? "{}";
  const half = Math.ceil(args.length / 2);
  yield chunk({ tool_calls: [{ ...call, function: { ...call.function, arguments: "" } }] });
  for (const piece of [args.slice(0, half), args.slice(half)]) {
    if (piece !== "") yield chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] });
  }
}

/** The result of a tool; else a call where one is forced or asked for by name; else JSON where a schema is given; else the message. */
function say(request: ChatRequest, target: Target & CallInfo): Said {
  const last = request.messages[request.messages.length - 1];
  if (last?.role === "tool" || last?.role === "function") return { text: textOf(last) };
  const text = textOf(request.messages.findLast((message) => message.role === "user") ?? last);
  const tool = toolToCall(request, text);
  if (tool !== undefined) {
    const args = JSON.stringify(smallest(tool.function?.parameters ?? {}, "object"));
    const id = `call_${target.id.replace(/^chatcmpl-/, "")}`;
    return { call: { index: 0, id, type: "function", function: { name: tool.function?.name ?? "", arguments: args } } };
  }
  const format = request["response_format"] as
    | { type?: string; json_schema?: { schema?: Record<string, unknown> } }
    | null
    | undefined;
  if (format?.type === "json_schema")
    return { text: JSON.stringify(smallest(format.json_schema?.schema ?? {}, "object")) };
  if (format?.type === "json_object") return { text: "{}" };
  return { text };
}

type Tool = NonNullable<ChatRequest["tools"]>[number];
type Choice =
  | string
  | {
      type?: string;
      function?: { name?: string };
      allowed_tools?: { mode?: string; tools?: { function?: { name?: string } }[] };
    }
  | null
  | undefined;

function toolToCall(request: ChatRequest, text: string): Tool | undefined {
  const choice = request["tool_choice"] as Choice;
  if (choice === "none") return undefined;
  let tools = (request.tools ?? []).filter((tool) => tool.type === "function");
  let forced = choice === "required" || choice === "any";
  if (typeof choice === "object" && choice !== null) {
    if (choice.type === "function") return tools.find((tool) => tool.function?.name === choice.function?.name);
    const allowed = choice.allowed_tools;
    if (allowed?.tools !== undefined) {
      const names = new Set(allowed.tools.map((tool) => tool.function?.name));
      tools = tools.filter((tool) => names.has(tool.function?.name));
      forced = allowed.mode === "required";
    }
  }
  return tools.find((tool) => names(text, tool.function?.name ?? "")) ?? (forced ? tools[0] : undefined);
}

/** The name stands in the text as a word of its own, in any case. */
function names(text: string, name: string): boolean {
  if (name === "") return false;
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`, "i").test(text);
}

function textOf(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (typeof part.text === "string" ? [part.text] : [])).join("\n");
}

function words(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

function choiceCount(request: ChatRequest): number {
  return typeof request["n"] === "number" ? request["n"] : 1;
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
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

/** Waits as long as the channel's `delayMs` says, or until the caller has gone. */
function pause(_word: string, target: Target): Promise<void> | void {
  const ms = target.options["delayMs"];
  if (typeof ms !== "number" || ms <= 0) return;
  const { signal } = target;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", leave);
      resolve();
    }, ms);
    const leave = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", leave, { once: true });
  });
}
