import type { Dialect, Problem, Script, View } from "./dialect.ts";
import {
  needImageType,
  needNoPrefill,
  needToolSchema,
  needUniqueId,
  needWellFormed,
} from "./demands.ts";
import { jsonBytes, need, onlyKeys, sse, TOKENS, turn } from "./dialect.ts";

const KEYS = [
  "model",
  "messages",
  "max_tokens",
  "system",
  "stop_sequences",
  "stream",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "metadata",
  "service_tier",
  "temperature",
  "top_p",
  "top_k",
];
const TOOL = [
  ...["type", "name", "description", "input_schema", "strict", "cache_control"],
  "eager_input_streaming",
];
const BLOCKS: Record<string, string[]> = {
  text: ["type", "text", "cache_control"],
  image: ["type", "source", "cache_control"],
  tool_use: ["type", "id", "name", "input", "cache_control"],
  tool_result: ["type", "tool_use_id", "content", "is_error", "cache_control"],
  document: ["type", "source", "title", "cache_control"],
  thinking: ["type", "thinking", "signature"],
};
const CHOICES: Record<string, string> = { auto: "auto", none: "none", any: "required" };
const FINISH = { length: "max_tokens", filter: "refusal" };
function finishOf(script: Script): string {
  if (script.finish) return FINISH[script.finish];
  return script.calls ? "tool_use" : "end_turn";
}
const input = {
  input_tokens: TOKENS.prompt - TOKENS.cached,
  cache_read_input_tokens: TOKENS.cached,
};
const MESSAGES: Partial<Record<Problem, string>> = {
  context_length: "prompt is too long: 208310 tokens > 200000 maximum",
  model: "model: no-such-model",
};
const event = (value: { type: string; [field: string]: unknown }) => sse(value, value.type);
const callId = (script: Script, i: number) => script.calls?.[i]?.id ?? `toolu_${i}`;

function streamEvents(script: Script): Buffer[] {
  const blocks: { start: object; deltas: object[] }[] = [];
  if (script.reasoning) {
    const deltas = [
      { type: "thinking_delta", thinking: script.reasoning },
      { type: "signature_delta", signature: "signed" },
    ];
    blocks.push({ start: { type: "thinking", thinking: "", signature: "" }, deltas });
  }
  if (script.text) {
    blocks.push({
      start: { type: "text", text: "" },
      deltas: script.text.map((text) => ({ type: "text_delta", text })),
    });
  }
  for (const [i, call] of (script.calls ?? []).entries()) {
    const start = { type: "tool_use", id: callId(script, i), name: call.name, input: {} };
    const json = call.args ? JSON.stringify(call.args) : "";
    const parts = call.args ? ["", json.slice(0, 3), json.slice(3)] : [];
    blocks.push({
      start,
      deltas: parts.map((partial_json) => ({ type: "input_json_delta", partial_json })),
    });
  }
  const message = {
    id: "msg_up",
    type: "message",
    role: "assistant",
    model: "real-model",
    content: [],
    stop_reason: null,
  };
  return [
    event({
      type: "message_start",
      message: { ...message, usage: { ...input, output_tokens: 1 } },
    }),
    event({ type: "ping" }),
    ...blocks.flatMap(({ start, deltas }, index) => [
      event({ type: "content_block_start", index, content_block: start }),
      ...deltas.map((delta) => event({ type: "content_block_delta", index, delta })),
      event({ type: "content_block_stop", index }),
    ]),
    event({
      type: "message_delta",
      delta: { stop_reason: finishOf(script), stop_sequence: null },
      usage: { ...input, output_tokens: TOKENS.completion },
    }),
    event({ type: "message_stop" }),
  ];
}

type Turn = View["turns"][number];

function readTurns(view: View, messages: any[]): void {
  let openCalls: string[] = [];
  const ids = new Set<string>();
  for (const message of messages) {
    need(["user", "assistant"].includes(message.role), `unknown role ${message.role}`);
    need(message.content.length > 0, "empty content");
    const blocks =
      typeof message.content === "string"
        ? [{ type: "text", text: message.content }]
        : message.content;
    const next = turn(message.role);
    for (const block of blocks) readBlock(next, block, ids);
    openCalls = readResults(next, blocks, openCalls);
    need(openCalls.length === 0, `calls without results: ${openCalls}`);
    openCalls = next.calls.map((call) => call.id ?? "");
    view.turns.push(next);
  }
  need(openCalls.length === 0, `calls without results: ${openCalls}`);
}

/** Reads a block, except for a tool result, which {@link readResults} compares with the preceding calls. */
function readBlock(next: Turn, block: any, ids: Set<string>): void {
  const keys = BLOCKS[block.type];
  need(keys, `unknown block ${block.type}`);
  onlyKeys(block.type, block, keys);
  needImageTypes([block, ...(Array.isArray(block.content) ? block.content : [])]);
  if (block.type === "text") {
    need(block.text !== "", "an empty text block");
    next.text += block.text;
  }
  if (block.type === "image") next.images.push(block.source.url ?? block.source.data);
  if (block.type === "tool_use") {
    needUniqueId(block.id, ids);
    next.calls.push({ id: block.id, name: block.name, args: block.input });
  }
}

function needImageTypes(parts: any[]): void {
  for (const { type, source } of parts) {
    if (type === "image" && source.data !== undefined)
      needImageType(source.media_type, source.data);
  }
}

/** Reads the tool results, which must precede all other blocks. Returns the calls without a result. */
function readResults(next: Turn, blocks: any[], calls: readonly string[]): string[] {
  let openCalls = [...calls];
  let hasOtherBlock = false;
  for (const block of blocks) {
    if (block.type !== "tool_result") {
      hasOtherBlock = true;
      continue;
    }
    need(!hasOtherBlock, "results must come first");
    need(openCalls.includes(block.tool_use_id), `result for no call: ${block.tool_use_id}`);
    openCalls = openCalls.filter((id) => id !== block.tool_use_id);
    next.results.push({ id: block.tool_use_id, text: block.content });
  }
  return openCalls;
}

export const anthropic: Dialect = {
  name: "anthropic",
  model: "claude-sonnet-4-5",
  channel: (root) => ({ provider: "anthropic", baseUrl: root, apiKey: "secret" }),
  read({ path, headers, body }) {
    need(path === "/v1/messages", `wrong path ${path}`);
    need(headers["x-api-key"] === "secret" && headers.authorization === undefined, "wrong key");
    need(
      ["2023-06-01", "2026-10-21"].includes(String(headers["anthropic-version"])),
      "wrong version",
    );
    const betas = String(headers["anthropic-beta"]);
    onlyKeys("body", body, [
      ...KEYS,
      ...(betas.includes("context-management-") ? ["context_management"] : []),
    ]);
    needWellFormed(body);
    needNoPrefill(body.model, body.messages.at(-1).role);
    need(Number.isInteger(body.max_tokens), "max_tokens is required");
    need(body.temperature === undefined || body.temperature <= 1, "temperature is over 1");
    for (const stop of body.stop_sequences ?? []) need(stop.trim() !== "", "a blank stop sequence");
    const view: View = {
      model: body.model,
      stream: body.stream === true,
      system: body.system ?? "",
      turns: [],
      tools: (body.tools ?? []).map((tool: { name: string; input_schema: { type?: string } }) => {
        onlyKeys("tool", tool, TOOL);
        needToolSchema(tool.input_schema);
        return tool.name;
      }),
      choice:
        body.tool_choice?.type === "tool"
          ? `[${body.tool_choice.name}]`
          : CHOICES[body.tool_choice?.type],
      schema: body.output_config?.format?.schema,
      maxTokens: body.max_tokens,
      temperature: body.temperature,
      stop: body.stop_sequences ?? [],
    };
    readTurns(view, body.messages);
    return view;
  },
  wholeType: "application/json",
  whole: (script) =>
    jsonBytes({
      id: "msg_up",
      type: "message",
      role: "assistant",
      model: "real-model",
      content: [
        ...(script.reasoning
          ? [{ type: "thinking", thinking: script.reasoning, signature: "signed" }]
          : []),
        ...(script.text ? [{ type: "text", text: script.text.join("") }] : []),
        ...(script.calls ?? []).map((call, i) => ({
          type: "tool_use",
          id: callId(script, i),
          name: call.name,
          input: call.args ?? {},
        })),
      ],
      stop_reason: finishOf(script),
      stop_sequence: null,
      usage: { ...input, output_tokens: TOKENS.completion },
    }),
  streamType: "text/event-stream; charset=utf-8",
  stream: streamEvents,
  closing: 2,
  refusal(problem) {
    const [status, type] = {
      auth: [401, "authentication_error"] as const,
      request: [400, "invalid_request_error"] as const,
      rate_limit: [429, "rate_limit_error"] as const,
      overloaded: [529, "overloaded_error"] as const,
      server: [500, "api_error"] as const,
      context_length: [400, "invalid_request_error"] as const,
      model: [404, "not_found_error"] as const,
    }[problem];
    const message = MESSAGES[problem] ?? `why ${problem}`;
    const body = { type: "error", error: { type, message }, request_id: "req_1" };
    return { status, body, ...(problem === "rate_limit" && { headers: { "retry-after": "30" } }) };
  },
  errorEvent: (message) => event({ type: "error", error: { type: "api_error", message } }),
  countTokens: (path) =>
    path === "/v1/messages/count_tokens" ? { input_tokens: TOKENS.prompt } : undefined,
  clientId: (id) => `call_${id}`,
};
