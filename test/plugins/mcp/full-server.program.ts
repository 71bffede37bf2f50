/**
 * An MCP server with all that the protocol's own conformance suite asks of one: connected as `test`, its tools and prompts
 * have the names there. Everything is answered as it stands here, so that a test can compare.
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { ResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQAAAAA=";
const text = (words: string) => ({ type: "text", text: words });
const image = { type: "image", data: PIXEL, mimeType: "image/png" };
const embedded = (uri: string) => ({
  type: "resource",
  resource: { uri, mimeType: "text/plain", text: "embedded words" },
});

type Json = Record<string, any>;
type Notify = (method: string, params: Json) => Promise<void>;
/** Sends a request to the client. */
type Ask = (method: string, params: Json) => Promise<Json>;
const content = (...parts: unknown[]) => ({ content: parts });

let level = "warning";
/** The URIs to which the client has subscribed, each as often as it has. */
let subscriptions: string[] = [];

const object = (properties: Json, required: string[] = []) => ({
  type: "object",
  properties,
  required,
});
const user = object({ username: { type: "string" }, email: { type: "string" } }, [
  "username",
  "email",
]);
const withDefaults = object({
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
});
const options = ["option1", "option2", "option3"];
const titled = ["value1", "value2", "value3"].map((value, index) => ({
  const: value,
  title: `Title ${index + 1}`,
}));
const choices = object({
  untitledSingle: { type: "string", enum: options },
  titledSingle: { type: "string", oneOf: titled },
  legacyEnum: { type: "string", enum: options, enumNames: ["One", "Two", "Three"] },
  untitledMulti: { type: "array", items: { type: "string", enum: options } },
  titledMulti: { type: "array", items: { anyOf: titled } },
});
async function elicit(ask: Ask, message: string, requestedSchema: Json) {
  const { action, content: entered } = await ask("elicitation/create", {
    message,
    requestedSchema,
  });
  return content(
    text(`Elicitation completed: action=${action}, content=${JSON.stringify(entered)}`),
  );
}

const tools: Record<string, (args: Json, notify: Notify, token: unknown, ask: Ask) => unknown> = {
  async sampling({ prompt }, _, __, ask) {
    const messages = [{ role: "user", content: text(prompt) }];
    const result = await ask("sampling/createMessage", { messages, maxTokens: 100 });
    return content(text(`LLM response: ${result["content"].text}`));
  },
  elicitation: ({ message }, _, __, ask) => elicit(ask, message, user),
  elicitation_sep1034_defaults: (_, __, ___, ask) =>
    elicit(ask, "Check the defaults", withDefaults),
  elicitation_sep1330_enums: (_, __, ___, ask) => elicit(ask, "Choose", choices),
  simple_text: () => content(text("This is a simple text response for testing.")),
  image_content: () => content(image),
  audio_content: () => content({ type: "audio", data: SOUND, mimeType: "audio/wav" }),
  embedded_resource: () => content(embedded("test://embedded-resource")),
  multiple_content_types: () =>
    content(text("Multiple content types test:"), image, embedded("test://mixed-content-resource")),
  everything: () => ({
    content: [
      { ...text("words"), annotations: { audience: ["user"], priority: 0.5 }, extra: 1 },
      image,
      { type: "audio", data: SOUND, mimeType: "audio/wav" },
      embedded("test://a"),
      { type: "resource", resource: { uri: "test://b", mimeType: "image/png", blob: PIXEL } },
      {
        type: "resource",
        resource: { uri: "test://c", mimeType: "application/pdf", blob: "AAAA" },
      },
      { type: "resource_link", uri: "test://d", name: "linked", mimeType: "text/plain" },
    ],
    structuredContent: { count: 7 },
    _meta: { "example.org/kept": true },
  }),
  error_handling: () => ({
    ...content(text("This tool intentionally returns an error for testing"), image),
    isError: true,
  }),
  async tool_with_progress(_, notify, progressToken) {
    for (const progress of [0, 50, 100])
      await notify("notifications/progress", { progressToken, progress, total: 100 });
    return content(text("done"));
  },
  async tool_with_logging(_, notify) {
    for (const data of ["started", "processing", "completed"])
      if (level === "debug") await notify("notifications/message", { level: "debug", data });
    return content(text("logged"));
  },
  subscriptions: () => content(text(JSON.stringify(subscriptions))),
  crash: () => process.exit(1),
  strict: (args) => content(text(JSON.stringify(args))),
};

const strictSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: { address: { type: "object", properties: { street: { type: "string" } } } },
  properties: {
    name: { type: "string", pattern: "^[a-z]+$" },
    kind: { enum: ["small", "large"] },
    address: { $ref: "#/$defs/address" },
    slow: { type: "string", pattern: "^(a|a)*$" },
    optional: { type: "string", pattern: `^(?:${"a?".repeat(40)}){25}$` },
    ahead: { type: "string", pattern: "^(?=x)y$" },
  },
  required: ["name"],
  additionalProperties: false,
};
const definitions: Record<string, Json> = {
  everything: {
    title: "Everything",
    annotations: { title: "Everything", readOnlyHint: true, unknownHint: 1 },
    outputSchema: { type: "object", properties: { count: { type: "integer" } } },
    icons: [{ src: "https://example.org/icon.png" }],
  },
  strict: { inputSchema: strictSchema },
};

const words = (prompt: unknown) => ({ messages: [{ role: "user", content: prompt }] });
const prompts: Record<string, (args: Json) => unknown> = {
  simple_prompt: () => words(text("This is a simple prompt for testing.")),
  prompt_with_arguments: ({ arg1, arg2 }) =>
    words(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  prompt_with_embedded_resource: ({ resourceUri }) => words(embedded(resourceUri)),
  prompt_with_image: () => words(image),
};
const promptArguments: Record<string, string[]> = {
  prompt_with_arguments: ["arg1", "arg2"],
  prompt_with_embedded_resource: ["resourceUri"],
};

const [owner = "full"] = process.argv.slice(2);
const server = new Server(
  { name: owner, version: "1.0.0" },
  {
    capabilities: {
      ...{ tools: {}, prompts: {}, resources: { subscribe: true } },
      ...{ completions: {}, logging: {} },
    },
  },
);

function read(uri: string) {
  if (uri === "test://static-binary")
    return { contents: [{ uri, mimeType: "image/png", blob: PIXEL }] };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  const said = id === undefined ? `the text of ${owner}` : JSON.stringify({ id, owner });
  if (id === undefined && uri !== "test://static-text")
    throw Object.assign(new Error("Resource not found"), { code: -32002, data: { uri } });
  return { contents: [{ uri, mimeType: "text/plain", text: said }] };
}

// everything is answered below
server.removeRequestHandler("logging/setLevel");
server.fallbackRequestHandler = async ({ method, params = {} }, extra): Promise<any> => {
  const { name, arguments: args = {}, uri, ref, _meta: meta } = params as Json;
  const notify: Notify = (named, about) =>
    extra.sendNotification({ method: named, params: about } as never);
  const ask: Ask = (named, about) =>
    extra.sendRequest({ method: named, params: about } as never, ResultSchema);
  switch (method) {
    case "resources/subscribe":
      subscriptions.push(uri);
      await notify("notifications/resources/updated", { uri });
      return {};
    case "resources/unsubscribe":
      subscriptions = subscriptions.filter((each) => each !== uri);
      return {};
    case "tools/list":
      return {
        tools: Object.keys(tools).map((tool) => ({
          name: tool,
          description: `Tests ${tool}`,
          inputSchema: { type: "object", properties: {} },
          ...definitions[tool],
        })),
      };
    case "tools/call":
      return tools[name]?.(args, notify, meta?.progressToken, ask);
    case "prompts/list":
      return {
        prompts: Object.keys(prompts).map((prompt) => ({
          name: prompt,
          description: `Tests ${prompt}`,
          arguments: promptArguments[prompt]?.map((each) => ({ name: each, required: true })),
        })),
      };
    case "prompts/get":
      return prompts[name]?.(args);
    case "resources/list":
      return {
        resources: ["test://static-text", "test://static-binary"].map((each) => ({
          uri: each,
          name: each.slice(7),
        })),
      };
    case "resources/templates/list":
      return {
        resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template" }],
      };
    case "resources/read":
      return read(uri);
    case "logging/setLevel":
      level = (params as Json)["level"];
      return {};
    case "completion/complete":
      return { completion: { values: [`${owner}:${ref.name ?? ref.uri}`], hasMore: false } };
    default:
      throw Object.assign(new Error("Method not found"), { code: -32601 });
  }
};
await server.connect(new StdioServerTransport());
