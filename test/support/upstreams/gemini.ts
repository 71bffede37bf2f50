import type { Dialect, Problem, Script, View } from "./dialect.ts";
import { needImageType, needWellFormed } from "./demands.ts";
import { jsonBytes, need, onlyKeys, sse, TOKENS, turn } from "./dialect.ts";

const KEYS = [
  "contents",
  "systemInstruction",
  "tools",
  "toolConfig",
  "safetySettings",
  "cachedContent",
  "generationConfig",
];
const GENERATION = [
  "temperature",
  "topP",
  "topK",
  "maxOutputTokens",
  "stopSequences",
  "seed",
  "presencePenalty",
  "frequencyPenalty",
  "responseMimeType",
  "responseJsonSchema",
  "thinkingConfig",
];
const PART = ["text", "inlineData", "functionCall", "functionResponse", "thoughtSignature"];
const CHOICES: Record<string, string> = { AUTO: "auto", NONE: "none", ANY: "required" };
const FINISH = { length: "MAX_TOKENS", filter: "SAFETY" };
const MESSAGES: Partial<Record<Problem, string>> = {
  context_length:
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
  model:
    "models/no-such-model is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.",
};
const meta = { modelVersion: "real-model", responseId: "up" };
const usageMetadata = {
  promptTokenCount: TOKENS.prompt,
  cachedContentTokenCount: TOKENS.cached,
  candidatesTokenCount: TOKENS.completion - 2,
  thoughtsTokenCount: 2,
  totalTokenCount: TOKENS.prompt + TOKENS.completion,
};

function partsOf(script: Script): object[] {
  return [
    ...(script.reasoning ? [{ text: script.reasoning, thought: true }] : []),
    ...(script.text ?? []).map((text) => ({ text })),
    ...(script.calls ?? []).map(({ id, name, args }, i) => ({
      functionCall: { id, name, args },
      ...(i === 0 && { thoughtSignature: "signed" }),
    })),
  ];
}
const finishOf = (script: Script) => (script.finish ? FINISH[script.finish] : "STOP");
const piece = (
  parts: object[],
  more: object = {},
  usage: object = { promptTokenCount: TOKENS.prompt },
) =>
  sse(
    {
      candidates: [{ content: { parts, role: "model" }, index: 0, ...more }],
      usageMetadata: usage,
      ...meta,
    },
    undefined,
    "\r\n",
  );

type Turn = View["turns"][number];

function readTurns(view: View, contents: any[]): void {
  let openCalls: string[] = [];
  for (const content of contents) {
    need(content.role === "user" || content.role === "model", `unknown role ${content.role}`);
    need(content.parts.length > 0, "empty parts");
    const next = turn(content.role === "user" ? "user" : "assistant");
    for (const part of content.parts) readPart(next, part, openCalls);
    need(openCalls.length === 0, "not as many responses as calls");
    openCalls = next.calls.map((call) => call.name);
    view.turns.push(next);
  }
}

/** Reads a part. `openCalls` holds the names of the calls without a response, and loses the one that this part answers. */
function readPart(next: Turn, part: any, openCalls: string[]): void {
  onlyKeys("part", part, PART);
  if (part.text !== undefined) next.text += part.text;
  if (part.inlineData) {
    needImageType(part.inlineData.mimeType, part.inlineData.data);
    next.images.push(part.inlineData.data);
  }
  if (part.functionCall) {
    const isFirst = next.calls.length === 0;
    need(!isFirst || part.thoughtSignature, "Function call is missing a thought_signature");
    next.calls.push({ ...part.functionCall });
  }
  if (part.functionResponse) readResponse(next, part.functionResponse, openCalls);
}

function readResponse(next: Turn, { id, name, response }: any, openCalls: string[]): void {
  need(typeof response === "object", "response must be an object");
  need(openCalls.includes(name), `response for no call: ${name}`);
  openCalls.splice(openCalls.indexOf(name), 1);
  const { output } = response;
  next.results.push({
    id,
    name,
    text: typeof output === "string" ? output : JSON.stringify(output),
  });
}

export const gemini: Dialect = {
  name: "gemini",
  model: "gemini-3-flash-preview",
  channel: (root) => ({ provider: "gemini", baseUrl: root, apiKey: "secret" }),
  read({ path, headers, body }) {
    const match =
      /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent\?alt=sse)$/.exec(path);
    need(match, `wrong path ${path}`);
    need(
      headers["x-goog-api-key"] === "secret" && headers.authorization === undefined,
      "wrong key",
    );
    onlyKeys("body", body, KEYS);
    needWellFormed(body);
    need(
      body.contents[0].role === "user" ||
        !body.contents[0].parts.some((part: any) => part.functionCall !== undefined),
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    );
    const settings = body.generationConfig ?? {};
    onlyKeys("generationConfig", settings, GENERATION);
    const calling = body.toolConfig?.functionCallingConfig;
    const names: string[] | undefined = calling?.allowedFunctionNames;
    const view: View = {
      model: match[1] ?? "",
      stream: match[2] !== "generateContent",
      system: (body.systemInstruction?.parts ?? [])
        .map((part: { text: string }) => part.text)
        .join(""),
      turns: [],
      tools: (body.tools?.[0]?.functionDeclarations ?? []).map((tool: { name: string }) => {
        onlyKeys("tool", tool, ["name", "description", "parametersJsonSchema"]);
        return tool.name;
      }),
      choice: names ? `[${names.join()}]` : CHOICES[calling?.mode],
      schema: settings.responseJsonSchema,
      maxTokens: settings.maxOutputTokens,
      temperature: settings.temperature,
      stop: settings.stopSequences ?? [],
    };
    readTurns(view, body.contents);
    return view;
  },
  wholeType: "application/json; charset=UTF-8",
  whole: (script) =>
    jsonBytes({
      candidates: [
        {
          content: { parts: partsOf(script), role: "model" },
          finishReason: finishOf(script),
          index: 0,
        },
      ],
      usageMetadata,
      ...meta,
    }),
  streamType: "text/event-stream",
  stream: (script) => [
    ...partsOf(script).map((part) => piece([part])),
    piece([{ text: "" }], { finishReason: finishOf(script) }, usageMetadata),
  ],
  closing: 1,
  refusal(problem) {
    const [status, code] = {
      auth: [400, "INVALID_ARGUMENT"] as const,
      request: [400, "INVALID_ARGUMENT"] as const,
      rate_limit: [429, "RESOURCE_EXHAUSTED"] as const,
      overloaded: [503, "UNAVAILABLE"] as const,
      server: [500, "INTERNAL"] as const,
      context_length: [400, "INVALID_ARGUMENT"] as const,
      model: [404, "NOT_FOUND"] as const,
    }[problem];
    const details =
      problem === "auth"
        ? [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }]
        : [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "30s" }];
    return {
      status,
      body: {
        error: {
          code: status,
          message: MESSAGES[problem] ?? `why ${problem}`,
          status: code,
          ...(!(problem in MESSAGES) && { details }),
        },
      },
    };
  },
  errorEvent: (message) => sse({ error: { code: 500, message, status: "INTERNAL" } }),
  countTokens: (path) =>
    path.endsWith(":countTokens") ? { totalTokens: TOKENS.prompt } : undefined,
  clientId: (id) => `call_${id}`,
};
