/** The response object, and what a whole completion becomes. */
import {
  type ChatCompletion,
  type JsonObject,
  partsOfCompletion,
  type StreamPart,
  type Usage,
} from "portico/provider";
import { createOutput, NO_EVENTS, type Output } from "./output.ts";

/** A response as it is before the model has said anything. `body` is the request. */
export function newResponse(id: string, body: JsonObject, stored: boolean): JsonObject {
  const reasoning = body.reasoning as { effort?: unknown; summary?: unknown } | null | undefined;
  const text = body.text as JsonObject | null | undefined;
  return {
    id,
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    status: "in_progress",
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model: body.model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: body.service_tier ?? "auto",
    store: stored,
    temperature: body.temperature ?? 1,
    text: { ...text, format: text?.format ?? { type: "text" } },
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? "disabled",
    usage: null,
    user: body.user ?? null,
    metadata: body.metadata ?? {},
  };
}

export interface Ending {
  model: string;
  items: JsonObject[];
  finish: string | null | undefined;
  usage: Usage | null | undefined;
}

/** The response with its end. */
export function endResponse(
  response: JsonObject,
  { model, items, finish, usage }: Ending,
): JsonObject {
  const reason = cutReason(finish);
  return {
    ...response,
    status: reason === undefined ? "completed" : "incomplete",
    completed_at: reason === undefined ? Math.floor(Date.now() / 1000) : undefined,
    incomplete_details: reason === undefined ? null : { reason },
    model,
    output: items,
    usage: usageOf(usage),
  };
}

/** Why the response is not complete, by the finish reason; undefined where it is. */
export function cutReason(finish: string | null | undefined): string | undefined {
  if (finish === "length") return "max_output_tokens";
  return finish === "content_filter" ? "content_filter" : undefined;
}

/** A whole completion as the response's end. */
export function responseOf(
  response: JsonObject,
  completion: ChatCompletion,
  custom: ReadonlySet<string> = new Set(),
): JsonObject {
  const choice = completion.choices[0];
  const output = createOutput(String(response.id), NO_EVENTS, custom);
  const finish = choice?.finish_reason;
  if (choice !== undefined) {
    const parts = partsOfCompletion({ ...completion, choices: [choice] });
    for (const part of parts) writePart(output, part);
    output.end(cutReason(finish) !== undefined);
  }
  return endResponse(response, {
    model: completion.model,
    items: output.items,
    finish,
    usage: completion.usage,
  });
}

/** What one part adds to the output. */
export function writePart(output: Output, part: StreamPart): void {
  switch (part.type) {
    case "reasoning":
      output.reasoning(part.text);
      return;
    case "text":
      output.text(part.text, tokensOf(part.logprobs));
      return;
    case "refusal":
      output.refusal(part.text);
      return;
    case "reasoning-signature":
      output.signature(part);
      return;
    case "tool-call":
      output.call(part);
      return;
    case "tool-arguments":
      output.callArguments(part.index, part.text);
      return;
    case "raw":
      if (part.members["extra_content"] != null) output.extra(part);
      return;
    default:
      return;
  }
}

function tokensOf(logprobs: unknown): unknown[] {
  const content = (logprobs as { content?: unknown } | null | undefined)?.content;
  return Array.isArray(content) ? content : [];
}

function usageOf(usage: Usage | null | undefined): JsonObject | null {
  if (usage == null) return null;
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: { cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0 },
    output_tokens: usage.completion_tokens,
    output_tokens_details: {
      reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
    },
    total_tokens: usage.total_tokens,
  };
}
