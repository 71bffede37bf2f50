/** OpenAI's Responses API, for channels with `responses: true`. */
import type { Dialect, Script, SeenRequest, View } from "./dialect.ts";
import { jsonBytes, need, sse, TOKENS, turn } from "./dialect.ts";
import { openAiRefusal } from "./openai.ts";

const usage = {
  input_tokens: TOKENS.prompt,
  input_tokens_details: { cached_tokens: TOKENS.cached },
  output_tokens: TOKENS.completion,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: TOKENS.prompt + TOKENS.completion,
};

/** The custom tools of the last request. Their calls are items of type `custom_tool_call`. */
let customTools = new Set<string>();

function itemsOf(script: Script): any[] {
  const calls = (script.calls ?? []).map(({ id, name, args }, i) => {
    const [namespace, own] = name.includes("/") ? name.split("/") : [undefined, name];
    const call_id = id ?? `call_${i}`;
    const common = { call_id, name: own, namespace, status: "completed" };
    return customTools.has(name)
      ? { id: `ctc_${i}`, type: "custom_tool_call", ...common, input: args?.["input"] }
      : { id: `fc_${i}`, type: "function_call", ...common, arguments: JSON.stringify(args ?? {}) };
  });
  if (script.text === undefined) return calls;
  const part = { type: "output_text", text: script.text.join(""), annotations: [], logprobs: [] };
  const message = { id: "msg_up", type: "message", role: "assistant", status: "completed" };
  return [{ ...message, content: [part] }, ...calls];
}

const objectOf = (status: string, output: object[]) => ({
  ...{ id: "resp_up", object: "response", created_at: 1_700_000_000, model: "real-model" },
  ...{ status, output, error: null, incomplete_details: null },
  usage: status === "completed" ? usage : null,
});

function eventsOf(script: Script): Record<string, unknown>[] {
  const items = itemsOf(script);
  return [
    { type: "response.created", response: objectOf("in_progress", []) },
    ...items.flatMap((item, i) => [
      { type: "response.output_item.added", output_index: i, item: startedItem(item) },
      ...deltasOf(item, i),
      { type: "response.output_item.done", output_index: i, item },
    ]),
    { type: "response.completed", response: objectOf("completed", items) },
  ];
}

/** Returns an item in the form of its first event. */
function startedItem(item: any): object {
  const started = { ...item, status: "in_progress" };
  if (item.type === "message") return { ...started, content: [] };
  return item.type === "function_call" ? { ...started, arguments: "" } : { ...started, input: "" };
}

function deltasOf(item: any, index: number): Record<string, unknown>[] {
  const itemReference = { item_id: item.id, output_index: index };
  if (item.type === "function_call") {
    const type = "response.function_call_arguments";
    const { arguments: args } = item;
    return [
      { type: `${type}.delta`, ...itemReference, delta: args },
      { type: `${type}.done`, ...itemReference, arguments: args },
    ];
  }
  if (item.type === "custom_tool_call") {
    const type = "response.custom_tool_call_input";
    return [
      { type: `${type}.delta`, ...itemReference, delta: item.input },
      { type: `${type}.done`, ...itemReference, input: item.input },
    ];
  }
  const { text } = item.content[0];
  const partReference = { ...itemReference, content_index: 0 };
  const [part] = item.content;
  return [
    { type: "response.content_part.added", ...partReference, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...partReference, delta: text, logprobs: [] },
    { type: "response.output_text.done", ...partReference, text, logprobs: [] },
    { type: "response.content_part.done", ...partReference, part },
  ];
}

/** Returns the names of tools. The namespace precedes a name: `namespace/name`. */
function toolsIn(list: any[], namespace?: string): string[] {
  return list.flatMap((tool) => {
    if (tool.type === "namespace") return toolsIn(tool.tools, tool.name);
    const name = namespace === undefined ? tool.name : `${namespace}/${tool.name}`;
    if (tool.type === "custom") customTools.add(name);
    return name === undefined ? [] : [name];
  });
}

function read({ path, headers, body }: SeenRequest): View {
  need(path === "/v1/responses", `wrong path ${path}`);
  need(headers.authorization === "Bearer secret", "wrong key");
  need(body.previous_response_id == null, "Previous response not found.");
  customTools = new Set();
  const added = body.input.filter((item: any) => item.type === "additional_tools");
  const view: View = {
    model: body.model,
    stream: body.stream === true,
    system: body.instructions ?? "",
    turns: [],
    tools: [body, ...added].flatMap(({ tools }) => toolsIn(tools ?? [])),
    choice: body.tool_choice,
    schema: body.text?.format?.schema,
    maxTokens: body.max_output_tokens,
    temperature: body.temperature,
    stop: [],
  };
  for (const item of body.input) view.turns.push(readItem(item));
  return view;
}

function readItem(item: any): View["turns"][number] {
  const sealed = String(item.encrypted_content);
  need(!sealed.startsWith("portico."), "The encrypted content could not be verified.");
  need(item.type !== "reasoning" || item.encrypted_content, `Item '${item.id}' not found.`);
  const next = turn(item.type?.endsWith("_output") ? "tool" : (item.role ?? "assistant"));
  const parts = typeof item.content === "string" ? [{ text: item.content }] : (item.content ?? []);
  next.text = parts.map((part: { text?: string }) => part.text ?? "").join("");
  if (item.type?.endsWith("_call"))
    next.calls.push({ id: item.call_id, name: item.name, args: item.arguments ?? item.input });
  const output = typeof item.output === "string" ? item.output : JSON.stringify(item.output);
  if (next.role === "tool") next.results.push({ id: item.call_id, text: output });
  return next;
}

export const responses: Dialect = {
  name: "openai (Responses)",
  model: "gpt-4o",
  channel: (root) => ({
    ...{ provider: "openai", baseUrl: `${root}/v1`, apiKey: "secret" },
    responses: true,
  }),
  read,
  wholeType: "application/json",
  whole: (script) => jsonBytes(objectOf("completed", itemsOf(script))),
  streamType: "text/event-stream",
  stream: (script) =>
    eventsOf(script).map((event, number) => sse({ ...event, sequence_number: number })),
  closing: 1,
  refusal: openAiRefusal,
  errorEvent: (message) => sse({ type: "error", code: "server_error", message, param: null }),
  clientId: (id) => id,
};
