/**
 * `function_call`, the form that calls had before OpenAI's format had tools: one call a message, without an id. Upstreams may
 * still answer in it. It is read as a tool call, and written again for clients that send `functions`.
 */
import { isObject, type JsonMembers } from "../request/is-object.ts";
import type { ChatChunk, ChatCompletion, ChatMessage } from "../types/format.ts";
import type { ChunkSink } from "./chunk-sink.ts";

/** An index that no upstream gives to a tool call. */
const INDEX_OF_FRAGMENT = -1;

/** True for the body of a request whose client knows no tools. */
export function usesFunctions(body: unknown): boolean {
  return isObject(body) && Array.isArray(body["functions"]) && body["tools"] == null;
}

/** Makes the `function_call` of a message a tool call, in place. Returns whether it changed something. */
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

/** The same for a delta of a stream, whose fragments belong to one call. */
export function readFunctionCallDelta(delta: JsonMembers): boolean {
  const isChanged = readFunctionCall(delta);
  const { tool_calls: calls } = delta;
  if (isChanged && Array.isArray(calls) && calls.length === 1 && isObject(calls[0]))
    calls[0]["index"] ??= INDEX_OF_FRAGMENT;
  return isChanged;
}

/** A response for a client that knows no tools. It can take one call a message: the model asks for others again. */
export function withFunctionCalls(completion: ChatCompletion): ChatCompletion {
  const choices = completion.choices.map((choice) => ({
    ...choice,
    message: withFunctionCall(choice.message),
    finish_reason: oldFinishReason(choice.finish_reason),
  }));
  return { ...completion, choices };
}

/** The same for a stream. */
export function functionCallSink(sink: ChunkSink): ChunkSink {
  return {
    chunk: (chunk) => sink.chunk(chunkWithFunctionCalls(chunk)),
    event(event) {
      const chunk = event.value as unknown as ChatChunk;
      if (!chunk.choices.some(isOfCall)) sink.event(event);
      else sink.chunk(chunkWithFunctionCalls(chunk));
    },
    comment: (text) => sink.comment(text),
  };
}

type ChunkChoice = ChatChunk["choices"][number];

function isOfCall({ delta, finish_reason }: ChunkChoice): boolean {
  return delta.tool_calls != null || finish_reason === "tool_calls";
}

function chunkWithFunctionCalls(chunk: ChatChunk): ChatChunk {
  const choices = chunk.choices.map((choice) => ({
    ...choice,
    delta: withFunctionCall(choice.delta),
    finish_reason: oldFinishReason(choice.finish_reason),
  }));
  return { ...chunk, choices };
}

function withFunctionCall<M extends Partial<ChatMessage>>(message: M): M {
  const { tool_calls: calls, ...others } = message;
  if (calls == null) return message;
  const call = calls.find(({ index = 0 }) => index === 0)?.function;
  return { ...others, ...(call !== undefined && { function_call: call }) } as M;
}

function oldFinishReason(reason: string | null): string | null {
  return reason === "tool_calls" ? "function_call" : reason;
}
