/** Whole responses in OpenAI's form: finds errors dressed as responses and mends what servers of that format get wrong. */
import {
  type ChatCompletion,
  type ChatMessage,
  createChunkWriter,
  errorTold,
  readOpenAiProblem,
  toldArguments,
  type ToolCallPart,
  type UpstreamError,
  upstreamError,
  type Usage,
} from "portico/chat";
import { type Fields, isObject } from "./fields.ts";

/** Values for fields that the upstream left out. */
export interface CompletionDefaults {
  id: string;
  created: number;
  model: string;
}

/**
 * Parses and mends a response. `changed` says whether the bytes may be passed on as they came. Throws `UpstreamError` for
 * anything that is not a completion.
 */
export function readCompletion(
  body: Buffer,
  defaults: CompletionDefaults,
): { completion: ChatCompletion; changed: boolean } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString("utf8"));
  } catch {
    throw notACompletion(body);
  }
  const error = errorIn(parsed);
  if (error !== undefined) throw error;
  if (!isObject(parsed) || !Array.isArray(parsed["choices"]) || !parsed["choices"].some(isObject))
    throw notACompletion(body);
  const changed = mendCompletion(parsed, defaults);
  return { completion: parsed as unknown as ChatCompletion, changed };
}

function notACompletion(body: Buffer): UpstreamError {
  const problem = readOpenAiProblem(200, body);
  return upstreamError(
    {
      kind: "upstream",
      message: `The upstream's answer is not a chat completion. ${problem.message}`,
    },
    200,
  );
}

/**
 * The error that a 200 response or a stream's event holds: one that `errorTold` finds, vLLM's `{"object":"error"}`, a bare
 * `{"detail"}` or `{"message"}` without choices.
 */
export function errorIn(value: unknown): UpstreamError | undefined {
  if (!isObject(value)) return undefined;
  const told = errorTold(value);
  const bare =
    !Array.isArray(value["choices"]) &&
    value["usage"] == null &&
    (value["detail"] != null || typeof value["message"] === "string");
  if (told === undefined && value["object"] !== "error" && !bare) return undefined;
  const problem = readOpenAiProblem(
    200,
    Buffer.from(JSON.stringify(told === undefined ? value : { error: told })),
  );
  return upstreamError(asFailure(problem), 200);
}

/** An error inside a response is the upstream's failure; a numeric code may tell overload and limits apart. */
export function asFailure(
  problem: ReturnType<typeof readOpenAiProblem>,
): ReturnType<typeof readOpenAiProblem> {
  const kind =
    problem.code === "429" || problem.type === "rate_limit_error"
      ? "rate_limit"
      : problem.code === "503" || problem.code === "529"
        ? "overloaded"
        : "upstream";
  const { code: _, ...rest } = problem;
  return { ...rest, kind };
}

function mendCompletion(response: Fields, defaults: CompletionDefaults): boolean {
  let changed = false;
  const set = (target: Fields, key: string, value: unknown) => {
    target[key] = value;
    changed = true;
  };
  if (!isCompletionId(response["id"])) set(response, "id", defaults.id);
  if (response["object"] !== "chat.completion") set(response, "object", "chat.completion");
  if (typeof response["created"] !== "number") set(response, "created", defaults.created);
  else if (!Number.isInteger(response["created"]))
    set(response, "created", Math.floor(response["created"]));
  if (typeof response["model"] !== "string" || response["model"] === "")
    set(response, "model", defaults.model);
  if (dropOthers(response, "choices")) changed = true;
  const choices = response["choices"] as Fields[];
  for (const [i, choice] of choices.entries()) {
    if (typeof choice["index"] !== "number") set(choice, "index", i);
    if (!isObject(choice["message"]))
      set(choice, "message", isObject(choice["delta"]) ? choice["delta"] : { content: "" });
    const message = choice["message"] as Fields;
    if (mendOwnText(choice, message)) changed = true;
    if (message["role"] !== "assistant") set(message, "role", "assistant");
    if (message["content"] === undefined) set(message, "content", null);
    if (dropOthers(message, "tool_calls")) changed = true;
    const calls = message["tool_calls"];
    if (Array.isArray(calls) && calls.length > 0 && mendCalls(calls)) changed = true;
    if (mendText(message)) changed = true;
    const reason =
      finishReason(choice["finish_reason"] || "stop", Array.isArray(calls) && calls.length > 0) ??
      "stop";
    if (reason !== choice["finish_reason"]) set(choice, "finish_reason", reason);
  }
  const { usage } = response;
  if (usage != null && !isObject(usage)) set(response, "usage", undefined);
  if (mendUsage(usage)) changed = true;
  return changed;
}

/** Some upstreams leave `total_tokens` or another count out, or write them as texts. */
export function mendUsage(usage: unknown): boolean {
  if (!isObject(usage)) return false;
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
  if (typeof prompt === "number" && typeof completion === "number" && typeof total === "number")
    return false;
  usage["prompt_tokens"] = count(prompt);
  usage["completion_tokens"] = count(completion);
  usage["total_tokens"] = total == null ? count(prompt) + count(completion) : count(total);
  return true;
}

const count = (value: unknown) => Math.max(0, Number(value ?? 0) || 0);

/** Of a list of objects, what is none goes; so does what is no list. */
export function dropOthers(holder: Fields, name: string): boolean {
  const list = holder[name];
  if (list == null) return false;
  if (!Array.isArray(list)) return delete holder[name];
  if (list.every(isObject)) return false;
  holder[name] = list.filter(isObject);
  return true;
}

function mendCalls(calls: unknown[]): boolean {
  let changed = false;
  for (const call of calls) {
    if (!isObject(call)) continue;
    if (typeof call["id"] !== "string" || call["id"] === "") {
      call["id"] = newCallId();
      changed = true;
    }
    if (typeof call["type"] !== "string") {
      call["type"] = "function";
      changed = true;
    }
    if (mendArguments(call["function"], true)) changed = true;
  }
  return changed;
}

/** Arguments that are an object, or missing from a whole call, become a JSON string; null in a part of one is no text. */
export function mendArguments(fn: unknown, whole: boolean): boolean {
  if (!isObject(fn)) return false;
  const given = fn["arguments"];
  if (
    whole
      ? typeof given === "string" && given.trim() !== ""
      : typeof given === "string" || given === undefined
  )
    return false;
  fn["arguments"] = whole ? toldArguments(given) : given === null ? "" : JSON.stringify(given);
  return true;
}

/** `content` as a list of parts becomes text, what is no text at all null; `reasoning` (OpenRouter, Groq, vLLM) is also given as `reasoning_content`. */
export function mendText(message: Fields): boolean {
  let changed = false;
  const content = message["content"];
  if (Array.isArray(content)) {
    const text = (part: unknown): string =>
      isObject(part) && typeof part["text"] === "string" ? part["text"] : "";
    const thinking = content.flatMap((part) =>
      isObject(part) && Array.isArray(part["thinking"]) ? part["thinking"] : [],
    );
    if (thinking.length > 0 && message["reasoning_content"] == null)
      message["reasoning_content"] = thinking.map(text).join("");
    message["content"] = content.map(text).join("");
    changed = true;
  } else if (content != null && typeof content !== "string") {
    message["content"] = null;
    changed = true;
  }
  if (typeof message["reasoning"] === "string" && message["reasoning_content"] == null) {
    message["reasoning_content"] = message["reasoning"];
    changed = true;
  }
  return changed;
}

/**
 * A text completion's `text` in a chat's choice: the message's where that says nothing, else it goes, for no reader of chats
 * and no guard over them would see it.
 */
export function mendOwnText(choice: Fields, message: Fields): boolean {
  const text = choice["text"];
  if (text === undefined) return false;
  delete choice["text"];
  const { content, tool_calls: calls, refusal } = message;
  if (typeof text === "string" && text !== "" && !content && calls == null && refusal == null)
    message["content"] = text;
  return true;
}

const REASONS: Record<string, string> = {
  end_turn: "stop",
  eos: "stop",
  eos_token: "stop",
  stop_sequence: "stop",
  STOP: "stop",
  max_tokens: "length",
  MAX_TOKENS: "length",
  model_length: "length",
  tool_use: "tool_calls",
  safety: "content_filter",
  SAFETY: "content_filter",
};

/** OpenAI's word for a finish reason, undefined where there is none. `stop` with tool calls is `tool_calls`. */
export function finishReason(value: unknown, hasCalls: boolean): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  const word = Object.hasOwn(REASONS, value) ? REASONS[value]! : value;
  return word === "stop" && hasCalls ? "tool_calls" : word;
}

export function newCallId(): string {
  return `call_${Math.random().toString(36).slice(2, 14)}${Math.random().toString(36).slice(2, 14)}`;
}

/** A whole response as the bytes of a stream, `[DONE]` included. */
export function completionAsStream(completion: ChatCompletion, includeUsage: boolean): Buffer {
  const { id, created, model } = completion;
  const writer = createChunkWriter({ id, created, model, includeUsage });
  for (const choice of completion.choices) {
    const { index, logprobs } = choice;
    // The alias of reasoning says nothing more.
    const {
      role: _,
      reasoning: __,
      reasoning_content: reasoning,
      content,
      tool_calls: calls,
      ...more
    } = choice.message;
    writer.role(index);
    if (typeof reasoning === "string" && reasoning !== "") writer.reasoning(reasoning, index);
    if (typeof content === "string" && content !== "") writer.delta({ content }, index, logprobs);
    // a refusal, a sound, pictures, annotations, what a provider wants to see again
    const others = Object.entries(more).filter(([, value]) => value != null);
    if (others.length > 0)
      writer.delta(Object.fromEntries(others), index, content ? undefined : logprobs);
    for (const [i, call] of (calls ?? []).entries())
      writer.delta({ tool_calls: [streamedCall(call, i)] }, index);
    writer.finish(choice.finish_reason ?? "stop", index);
  }
  if (completion.usage) writer.usage(completion.usage);
  writer.done();
  return writer.take()!;
}

function streamedCall(call: ToolCallPart, index: number): ToolCallPart {
  const {
    id = newCallId(),
    type = "function",
    function: { name = "", arguments: args = "{}" } = {},
    ...more
  } = call;
  return {
    index,
    id,
    type,
    ...(type === "function" ? { function: { name, arguments: args } } : {}),
    ...more,
  };
}

/** A completion with one text response, for providers that answer with a string and for hooks that reply. */
export function textCompletion(
  defaults: CompletionDefaults,
  content: string,
  usage?: Usage,
): ChatCompletion {
  const message: ChatMessage = { role: "assistant", content };
  return {
    id: defaults.id,
    object: "chat.completion",
    created: defaults.created,
    model: defaults.model,
    choices: [{ index: 0, message, finish_reason: "stop", logprobs: null }],
    usage,
  };
}

export const NO_TOKENS: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** A response of our own as clients get it: many read the usage unasked, so that it is there where nobody counted too. */
export function completionBytes(completion: ChatCompletion): Buffer {
  return Buffer.from(
    JSON.stringify(completion.usage == null ? { ...completion, usage: NO_TOKENS } : completion),
  );
}

let counter = 0;
const runId = Math.random().toString(36).slice(2, 10);

/** Whether an id may be passed on: OpenAI's begin so, and others may mean something where they come from. */
export function isCompletionId(id: unknown): id is string {
  return typeof id === "string" && id.startsWith("chatcmpl-") && id.length > 9;
}

/** `chatcmpl-` and an id that is unique over restarts too. */
export function newCompletionId(): string {
  counter = (counter + 1) % Number.MAX_SAFE_INTEGER;
  return `chatcmpl-${runId}${Date.now().toString(36)}${counter.toString(36).padStart(5, "0")}`;
}
