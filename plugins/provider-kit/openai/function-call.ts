/**
 * `function_call`, the form of calls in OpenAI's format before it had tools: at most one call per message, without an id.
 * Some upstreams still respond with it. The gateway reads it as a tool call, and writes it for clients that send `functions`.
 */
import { isObject, type JsonMembers } from "../request/is-object.ts";
import type { ChatChunk, ChatCompletion, ChatMessage } from "../types/format.ts";
import type { ChunkSink } from "./chunk-sink.ts";

/** An index that no upstream gives to a tool call. */
const LEGACY_CALL_INDEX = -1;

/** True for the body of a request whose client does not support tools. */
export function usesFunctions(body: unknown): boolean {
  return isObject(body) && Array.isArray(body["functions"]) && body["tools"] == null;
}

/** Turns the `function_call` of a message into a tool call, in place. Returns true if the message has changed. */
export function readFunctionCall(message: JsonMembers): boolean {
  const call = message["function_call"];
  if (call == null) return false;
  delete message["function_call"];
  const { tool_calls: calls } = message;
  // Some servers send each call in both forms.
  const isRepeated = Array.isArray(calls) && calls.length > 0;
  if (isRepeated || !isObject(call) || (!call["name"] && !call["arguments"])) return true;
  message["tool_calls"] = [{ type: "function", function: call }];
  return true;
}

/** As `readFunctionCall`, for a delta of a stream. All fragments of a choice belong to one call. */
export function readFunctionCallDelta(delta: JsonMembers): boolean {
  const isChanged = readFunctionCall(delta);
  const { tool_calls: calls } = delta;
  if (isChanged && Array.isArray(calls) && calls.length === 1 && isObject(calls[0]))
    calls[0]["index"] ??= LEGACY_CALL_INDEX;
  return isChanged;
}

/** Converts a response for a client that does not support tools. It keeps only the first call; the model repeats others. */
export function withFunctionCalls(completion: ChatCompletion): ChatCompletion {
  const choices = completion.choices.map((choice) => ({
    ...choice,
    message: withFunctionCall(choice.message),
    finish_reason: legacyFinishReason(choice.finish_reason),
  }));
  return { ...completion, choices };
}

/** Returns a sink that converts the chunks of a stream in the same way. */
export function functionCallSink(sink: ChunkSink): ChunkSink {
  return {
    chunk: (chunk) => sink.chunk(chunkWithFunctionCalls(chunk)),
    event(event) {
      const chunk = event.value as unknown as ChatChunk;
      if (!chunk.choices.some(concernsCalls)) sink.event(event);
      else sink.chunk(chunkWithFunctionCalls(chunk));
    },
    comment: (text) => sink.comment(text),
  };
}

type ChunkChoice = ChatChunk["choices"][number];

function concernsCalls({ delta, finish_reason }: ChunkChoice): boolean {
  return delta.tool_calls != null || finish_reason === "tool_calls";
}

function chunkWithFunctionCalls(chunk: ChatChunk): ChatChunk {
  const choices = chunk.choices.map((choice) => ({
    ...choice,
    delta: withFunctionCall(choice.delta),
    finish_reason: legacyFinishReason(choice.finish_reason),
  }));
  return { ...chunk, choices };
}

function withFunctionCall<M extends Partial<ChatMessage>>(message: M): M {
  const { tool_calls: calls, ...others } = message;
  if (calls == null) return message;
  const call = calls.find(({ index = 0 }) => index === 0)?.function;
  return { ...others, ...(call !== undefined && { function_call: call }) } as M;
}

function legacyFinishReason(reason: string | null): string | null {
  return reason === "tool_calls" ? "function_call" : reason;
}
