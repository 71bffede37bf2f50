/** The response object, and the translation of a whole completion into it. */
import {
  type ChatCompletion,
  type JsonObject,
  partsOfCompletion,
  type StreamPart,
  type Usage,
} from "portico/provider";
import type { PorticoError } from "portico";
import type { ToolOf } from "./output/call-items.ts";
import { NO_EVENTS } from "./output/item-list.ts";
import { createOutput, type Output, type OutputFactory } from "./output/output.ts";

/** Members of a request that its response repeats, with the defaults for those that the request leaves out. */
const REPEATED: JsonObject = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  presence_penalty: 0,
  frequency_penalty: 0,
  temperature: 1,
  top_logprobs: 0,
  top_p: 1,
  safety_identifier: null,
  service_tier: "auto",
  tool_choice: "auto",
  user: null,
  truncation: "disabled",
};

/** A response before the first output of the model. `body` is the request. */
export function newResponse(id: string, body: JsonObject, stored: boolean): JsonObject {
  const { effort = null, summary = null } = (body.reasoning ?? {}) as JsonObject;
  const text = (body.text ?? {}) as JsonObject;
  const repeated = Object.entries(REPEATED).map(([name, fallback]) => [
    name,
    body[name] ?? fallback,
  ]);
  return {
    id,
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    completed_at: null,
    status: "in_progress",
    background: false,
    error: null,
    incomplete_details: null,
    model: body.model,
    output: [],
    ...Object.fromEntries(repeated),
    reasoning: { effort, summary },
    store: stored,
    text: { ...text, format: echoedFormat(text.format) },
    tools: Array.isArray(body.tools) ? body.tools.map(echoedTool) : [],
    usage: null,
  };
}

/** Members that a client may leave out are null in what it gets back. */
function echoedTool(tool: JsonObject): JsonObject {
  if (tool.type === "namespace" && Array.isArray(tool.tools))
    return { ...tool, tools: tool.tools.map(echoedTool) };
  if (tool.type !== "function") return tool;
  const { description = null, parameters = null, strict = null } = tool;
  return { ...tool, description, parameters, strict };
}

function echoedFormat(format: unknown): JsonObject {
  const echoed = (format ?? { type: "text" }) as JsonObject;
  if (echoed.type !== "json_schema") return echoed;
  const { description = null, strict = null } = echoed;
  return { ...echoed, description, strict };
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
  const reason = incompleteReason(finish);
  return {
    ...response,
    status: reason === undefined ? "completed" : "incomplete",
    completed_at: reason === undefined ? Math.floor(Date.now() / 1000) : null,
    incomplete_details: reason === undefined ? null : { reason },
    model,
    output: items,
    usage: usageOf(usage),
  };
}

/** Error codes that the format defines for failed responses, and codes that agents handle. */
const FAILURE_CODES = new Set([
  "server_error",
  "rate_limit_exceeded",
  "invalid_prompt",
  "vector_store_timeout",
  "invalid_image",
  "invalid_image_format",
  "invalid_base64_image",
  "invalid_image_url",
  "image_too_large",
  "image_too_small",
  "image_parse_error",
  "invalid_image_mode",
  "image_content_policy_violation",
  "image_file_too_large",
  "empty_image_file",
  "unsupported_image_media_type",
  "failed_to_download_image",
  "image_file_not_found",
  "context_length_exceeded",
  "insufficient_quota",
]);

/** Returns the response object of a response that failed after it had begun. */
export function failedResponse(response: JsonObject, error: PorticoError): JsonObject {
  const { message } = error;
  return { ...response, status: "failed", error: { code: failureCode(error), message } };
}

function failureCode({ code, status }: PorticoError): string {
  if (FAILURE_CODES.has(code)) return code;
  if (status === 429) return "rate_limit_exceeded";
  return status >= 400 && status < 500 ? "invalid_prompt" : "server_error";
}

/** Translates the finish reason into the reason why the response is incomplete; undefined if it is complete. */
export function incompleteReason(finish: string | null | undefined): string | undefined {
  if (finish === "length") return "max_output_tokens";
  return finish === "content_filter" ? "content_filter" : undefined;
}

/** Translates a whole completion into a finished response. */
export function responseOf(
  response: JsonObject,
  completion: ChatCompletion,
  toolOf: ToolOf,
  makeOutput: OutputFactory = createOutput,
): JsonObject {
  const choice = completion.choices[0];
  const output = makeOutput(String(response.id), NO_EVENTS, toolOf);
  const finish = choice?.finish_reason;
  if (choice !== undefined) {
    const parts = partsOfCompletion({ ...completion, choices: [choice] });
    for (const part of parts) writePart(output, part);
    output.end(incompleteReason(finish) !== undefined);
  }
  return endResponse(response, {
    model: completion.model,
    items: output.items,
    finish,
    usage: completion.usage,
  });
}

/** Adds one part to the output. */
export function writePart(output: Output, part: StreamPart): void {
  switch (part.type) {
    case "reasoning":
      output.addReasoning(part.text);
      return;
    case "text":
      output.addText(part.text, tokensOf(part.logprobs));
      return;
    case "annotation":
      output.addAnnotation(annotationOf(part.annotation));
      return;
    case "refusal":
      output.addRefusal(part.text);
      return;
    case "reasoning-signature":
      output.addSignature(part);
      return;
    case "tool-call":
      output.beginCall(part);
      return;
    case "tool-arguments":
      output.addArguments(part.index, part.text);
      return;
    case "raw":
      if (part.members["extra_content"] != null) output.addExtra(part);
      return;
    default:
      return;
  }
}

/** Flattens a citation, whose members are one level deeper in chat's form. */
function annotationOf(annotation: JsonObject): JsonObject {
  const { url_citation: citation, ...others } = annotation;
  return typeof citation === "object" ? { ...others, ...citation } : annotation;
}

function tokensOf(logprobs: unknown): unknown[] {
  const content = (logprobs as { content?: unknown } | null | undefined)?.content;
  return Array.isArray(content) ? content : [];
}

export function usageOf(usage: Usage | null | undefined): JsonObject | null {
  if (usage == null) return null;
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: {
      cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
      cache_write_tokens: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
    },
    output_tokens: usage.completion_tokens,
    output_tokens_details: {
      reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
    },
    total_tokens: usage.total_tokens,
  };
}
