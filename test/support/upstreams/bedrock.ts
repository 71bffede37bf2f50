import type { Dialect, Problem, Script, View } from "./dialect.ts";
import { needNoPrefill, needToolSchema, needUniqueId, needWellFormed } from "./demands.ts";
import { jsonBytes, need, onlyKeys, TOKENS, turn } from "./dialect.ts";
import { event, exception } from "./frames.ts";

const KEYS = [
  "messages",
  "system",
  "inferenceConfig",
  "toolConfig",
  "outputConfig",
  "guardrailConfig",
  "serviceTier",
  "requestMetadata",
  "additionalModelRequestFields",
];
const BLOCKS = [
  "text",
  "image",
  "document",
  "toolUse",
  "toolResult",
  "reasoningContent",
  "cachePoint",
];
const FINISH = { length: "max_tokens", filter: "guardrail_intervened" };
function finishOf(script: Script): string {
  if (script.finish) return FINISH[script.finish];
  return script.calls ? "tool_use" : "end_turn";
}
const usage = {
  inputTokens: TOKENS.prompt - TOKENS.cached,
  cacheReadInputTokens: TOKENS.cached,
  cacheWriteInputTokens: 0,
  outputTokens: TOKENS.completion,
  totalTokens: TOKENS.prompt + TOKENS.completion,
};
const callId = (script: Script, i: number) => script.calls?.[i]?.id ?? `tooluse_${i}`;

/** Checks documents. `names` holds the names of the preceding ones. */
function needTextBesideDocuments(content: any[], names: Set<string>): void {
  const documents = content.filter((block) => block.document !== undefined);
  if (documents.length > 0)
    need(
      content.some((block) => block.text !== undefined),
      "A text block must be included when using documents.",
    );
  for (const { document } of documents) {
    need(/^[a-zA-Z0-9()[\]-]+(?: [a-zA-Z0-9()[\]-]+)*$/.test(document.name), "a bad document name");
    need(!names.has(document.name), `duplicate document names: ${document.name}`);
    names.add(document.name);
  }
}

function streamEvents(script: Script): Buffer[] {
  const events = [event("messageStart", { role: "assistant" })];
  let contentBlockIndex = 0;
  const block = (deltas: object[], start?: object) => {
    if (start) events.push(event("contentBlockStart", { contentBlockIndex, start }));
    for (const delta of deltas)
      events.push(event("contentBlockDelta", { contentBlockIndex, delta }));
    events.push(event("contentBlockStop", { contentBlockIndex }));
    contentBlockIndex++;
  };
  if (script.reasoning) {
    block([
      { reasoningContent: { text: script.reasoning } },
      { reasoningContent: { signature: "signed" } },
    ]);
  }
  if (script.text) block(script.text.map((text) => ({ text })));
  for (const [i, call] of (script.calls ?? []).entries()) {
    const json = call.args ? JSON.stringify(call.args) : "";
    const deltas = call.args
      ? [json.slice(0, 3), json.slice(3)].map((input) => ({ toolUse: { input } }))
      : [];
    block(deltas, { toolUse: { toolUseId: callId(script, i), name: call.name } });
  }
  events.push(event("messageStop", { stopReason: finishOf(script) }));
  events.push(event("metadata", { usage, metrics: { latencyMs: 1 } }));
  return events;
}

const MESSAGES: Partial<Record<Problem, string>> = {
  context_length: "Input is too long for requested model.",
  model: "The provided model identifier is invalid.",
};

type Turn = View["turns"][number];

function choiceOf(choice: any): string | undefined {
  if (choice?.tool) return `[${choice.tool.name}]`;
  if (choice?.any) return "required";
  return choice?.auto ? "auto" : undefined;
}

function readTurns(view: View, body: any): void {
  const documents = new Set<string>();
  const ids = new Set<string>();
  let openCalls: string[] = [];
  let previousRole = "";
  for (const message of body.messages) {
    need(message.role !== previousRole, "roles must alternate");
    previousRole = message.role;
    needTextBesideDocuments(message.content, documents);
    const next = turn(message.role);
    for (const block of message.content) {
      onlyKeys("block", block, BLOCKS);
      need(Object.keys(block).length === 1, "one kind per block");
      if (block.text !== undefined) readText(next, block.text);
      if (block.image) readImage(next, block.image);
      if (block.toolUse) {
        needUniqueId(block.toolUse.toolUseId, ids);
        need(body.toolConfig, "The toolConfig field must be defined when using toolUse");
        readCall(next, block.toolUse);
      }
      if (block.toolResult) openCalls = readResult(next, block.toolResult, openCalls);
    }
    need(openCalls.length === 0, `calls without results: ${openCalls}`);
    openCalls = next.calls.map((call) => call.id ?? "");
    view.turns.push(next);
  }
}

function readText(next: Turn, text: string): void {
  need(text.trim() !== "", "The text field in the ContentBlock object is blank");
  next.text += text;
}

function readImage(next: Turn, image: any): void {
  need(["png", "jpeg", "gif", "webp"].includes(image.format), "wrong image format");
  next.images.push(image.source.bytes);
}

function readCall(next: Turn, { toolUseId, name, input }: any): void {
  next.calls.push({ id: toolUseId, name, args: input });
}

/** Reads a tool result. Returns the calls without a result. */
function readResult(next: Turn, { toolUseId, content }: any, open: string[]): string[] {
  need(open.includes(toolUseId), `result for no call: ${toolUseId}`);
  const text = content.map((part: { text: string }) => part.text).join("");
  next.results.push({ id: toolUseId, text });
  return open.filter((id) => id !== toolUseId);
}

export const bedrock: Dialect = {
  name: "bedrock",
  model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
  channel: (root) => ({
    provider: "bedrock",
    baseUrl: root,
    apiKey: "secret",
    region: "us-east-1",
  }),
  read({ path, headers, body }) {
    const match = /^\/model\/([^/]+)\/(converse|converse-stream)$/.exec(path);
    need(match, `wrong path ${path}`);
    need(headers.authorization === "Bearer secret", "wrong key");
    onlyKeys("body", body, KEYS);
    needWellFormed(body);
    need(body.messages[0].role === "user", "A conversation must start with a user message.");
    needNoPrefill(decodeURIComponent(match[1] ?? ""), body.messages.at(-1).role);
    const settings = body.inferenceConfig ?? {};
    onlyKeys("inferenceConfig", settings, ["maxTokens", "temperature", "topP", "stopSequences"]);
    const schema = body.outputConfig?.textFormat?.structure.jsonSchema.schema;
    const view: View = {
      model: decodeURIComponent(match[1] ?? ""),
      stream: match[2] === "converse-stream",
      system: (body.system ?? []).map((part: { text?: string }) => part.text ?? "").join("\n"),
      turns: [],
      tools: (body.toolConfig?.tools ?? []).flatMap((tool: any) => {
        if (tool.cachePoint !== undefined) return [];
        onlyKeys("toolSpec", tool.toolSpec, ["name", "description", "inputSchema", "strict"]);
        needToolSchema(tool.toolSpec.inputSchema.json);
        return [tool.toolSpec.name];
      }),
      choice: choiceOf(body.toolConfig?.toolChoice),
      schema: schema === undefined ? undefined : JSON.parse(schema),
      maxTokens: settings.maxTokens,
      temperature: settings.temperature,
      stop: settings.stopSequences ?? [],
    };
    readTurns(view, body);
    return view;
  },
  wholeType: "application/json",
  whole: (script) =>
    jsonBytes({
      output: {
        message: {
          role: "assistant",
          content: [
            ...(script.reasoning
              ? [
                  {
                    reasoningContent: {
                      reasoningText: { text: script.reasoning, signature: "signed" },
                    },
                  },
                ]
              : []),
            ...(script.text ? [{ text: script.text.join("") }] : []),
            ...(script.calls ?? []).map((call, i) => ({
              toolUse: { toolUseId: callId(script, i), name: call.name, input: call.args ?? {} },
            })),
          ],
        },
      },
      stopReason: finishOf(script),
      usage,
      metrics: { latencyMs: 1 },
    }),
  streamType: "application/vnd.amazon.eventstream",
  stream: streamEvents,
  closing: 2,
  refusal(problem) {
    const [status, type] = {
      auth: [403, "AccessDeniedException"] as const,
      request: [400, "ValidationException"] as const,
      rate_limit: [429, "ThrottlingException"] as const,
      overloaded: [503, "ServiceUnavailableException"] as const,
      server: [500, "InternalServerException"] as const,
      context_length: [400, "ValidationException"] as const,
      model: [400, "ValidationException"] as const,
    }[problem];
    const retry: Record<string, string> = problem === "rate_limit" ? { "retry-after": "30" } : {};
    return {
      status,
      body: { message: MESSAGES[problem] ?? `why ${problem}` },
      headers: { "x-amzn-errortype": `${type}:http://x/`, ...retry },
    };
  },
  errorEvent: (message) => exception("internalServerException", message),
  clientId: (id) => `call_${id}`,
};
