/** The entry points for text from outside, with the texts for each and a function that sends them. */
import {
  BOUNDARY,
  documents,
  feeds,
  jsonValues,
  multipart,
  pages,
  type Shape,
  urlEncoded,
  xml,
} from "./shapes.ts";

export interface EntryPoint {
  name: string;
  /** The size of the text. */
  bytes: number;
  shapes: Readonly<Record<string, Shape>>;
  /** Sends a text. Resolves when the gateway has processed it. */
  send(servers: TestServers, text: string): Promise<unknown>;
}

/** The gateway's interface for clients, and the server that the gateway calls. */
export interface TestServers {
  url: string;
  browserUrl: string;
  headers: Record<string, string>;
  webhookToken: string;
  /** Serves a text until the next call. Returns its address. */
  serve(text: string, contentType: string): string;
}

/** Sizes just below the limits of `gateway.http.maxBodyBytes`, of webhooks, and of sources of polls. */
const BODY = 27_000_000;
const WEBHOOK = 1_000_000;
const SOURCE = 5_000_000;
/** A size below `maxResponseBytes` of an MCP server. */
const RESULT = 15_000_000;

const post = async (url: string, headers: Record<string, string>, body: string): Promise<void> => {
  const response = await fetch(url, { method: "POST", headers, body });
  await response.arrayBuffer();
};

const MESSAGES = '"model":"echo","max_tokens":5,"messages":[{"role":"user","content":"x"}]';
const routes: readonly (readonly [path: string, members: string])[] = [
  ["/v1/chat/completions", MESSAGES],
  ["/v1/messages", MESSAGES],
  ["/v1/messages/count_tokens", MESSAGES],
  ["/v1/responses", '"model":"echo","input":"x"'],
  ["/v1/embeddings", '"model":"echo","input":"x"'],
  ["/v1/completions", '"model":"echo","prompt":"x"'],
  ["/v1/moderations", '"model":"echo","input":"x"'],
  ["/mcp", '"jsonrpc":"2.0","id":1,"method":"tools/list"'],
  ["/keys", '"name":"k"'],
  ["/agent", '"message":"x"'],
  ["/cron/jobs", '"name":"j"'],
  ["/polls", '"name":"p"'],
  ["/kernel/config", '"key":"log.level"'],
  ["/webhooks/test", '"path":"any"'],
];

const bodies: EntryPoint[] = routes.map(([path, members]) => ({
  name: `POST ${path}`,
  bytes: BODY,
  shapes: jsonValues,
  send: ({ url, headers }, text) => post(url + path, headers, `{${members},"x":${text}}`),
}));

/** Entry points where the text is not an additional member, but the one that the route reads. */
const members: EntryPoint[] = [
  ["messages", '{"model":"echo","messages":', "}"],
  ["tools", `{${MESSAGES},"tools":`, "}"],
  ["metadata", `{${MESSAGES},"metadata":`, "}"],
  ["content", '{"model":"echo","messages":[{"role":"user","content":', "}]}"],
].map(([name, before, after]) => ({
  name: `chat's ${name}`,
  bytes: BODY,
  shapes: jsonValues,
  send: ({ url, headers }, text) =>
    post(`${url}/v1/chat/completions`, headers, before + text + after),
}));

const browser: EntryPoint = {
  name: "browser control",
  bytes: BODY,
  shapes: jsonValues,
  send: ({ browserUrl, headers }, text) =>
    post(`${browserUrl}/act`, headers, `{"kind":"click","ref":"1","x":${text}}`),
};

const model: EntryPoint = {
  name: "model names",
  bytes: BODY,
  shapes: { long: (size) => "m".repeat(size) },
  send: ({ url, headers }, text) =>
    post(
      `${url}/v1/chat/completions`,
      headers,
      JSON.stringify({ model: `up/${text}`, messages: [{ role: "user", content: "x" }] }),
    ),
};

function webhook(
  name: string,
  shapes: Readonly<Record<string, Shape>>,
  contentType: string,
): EntryPoint {
  return {
    name: `webhooks: ${name}`,
    bytes: WEBHOOK,
    shapes,
    send: ({ url, webhookToken }, text) =>
      post(
        `${url}/hooks/any`,
        { authorization: `Bearer ${webhookToken}`, "content-type": contentType },
        text,
      ),
  };
}

const webhooks: EntryPoint[] = [
  webhook("JSON", jsonValues, "application/json"),
  webhook("form", urlEncoded, "application/x-www-form-urlencoded"),
  webhook("multipart", multipart, `multipart/form-data; boundary=${BOUNDARY}`),
  webhook("XML", xml, "application/xml"),
  webhook("text", { lines: (size) => "a\n".repeat(size / 2) }, "text/plain"),
];

const upload: EntryPoint = {
  name: "uploads",
  bytes: BODY,
  shapes: multipart,
  send: ({ url, headers }, text) =>
    post(
      `${url}/v1/audio/transcriptions`,
      { ...headers, "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
      text,
    ),
};

function source(
  name: string,
  shapes: Readonly<Record<string, Shape>>,
  contentType: string,
  fields: Record<string, unknown>,
): EntryPoint {
  return {
    name: `polls: ${name}`,
    bytes: SOURCE,
    shapes,
    send: ({ url, headers, serve }, text) =>
      post(
        `${url}/polls/test`,
        headers,
        JSON.stringify({
          name: "wide",
          every: "1h",
          source: { ...fields, url: serve(text, contentType) },
          payload: { kind: "systemEvent", text: "x" },
        }),
      ),
  };
}

const sources: EntryPoint[] = [
  source("feeds", feeds, "application/rss+xml", { kind: "feed" }),
  source("pages", pages, "text/html", { kind: "html" }),
  source("pages with a selector", pages, "text/html", { kind: "html", selector: "a, p" }),
  source("JSON", documents, "application/json", { kind: "json", items: "items", key: "id" }),
  source("documents", documents, "application/json", { kind: "http" }),
  source("ignored lines", documents, "text/plain", { kind: "http", ignore: ["^x+y"] }),
];

/** Answers of an upstream, whole or as events. */
const completion = (content: string): string =>
  `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"x":${content}}`;
const chunk = (content: string): string =>
  `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"x":${content}}\n\ndata: [DONE]\n\n`;

function upstream(name: string, path: string, isStream: boolean): EntryPoint {
  return {
    name: `upstreams: ${name}`,
    bytes: BODY,
    shapes: jsonValues,
    send({ url, headers, serve }, text) {
      serve(
        isStream ? chunk(text) : completion(text),
        isStream ? "text/event-stream" : "application/json",
      );
      const body = `{"model":"up/m","max_tokens":5,"stream":${isStream},"input":"x","messages":[{"role":"user","content":"x"}]}`;
      return post(url + path, headers, body);
    },
  };
}

const upstreams: EntryPoint[] = [
  upstream("whole responses", "/v1/chat/completions", false),
  upstream("whole responses, translated", "/v1/messages", false),
  upstream("streams", "/v1/chat/completions", true),
  upstream("streams, translated", "/v1/messages", true),
];

const mcp: EntryPoint = {
  name: "MCP results",
  bytes: RESULT,
  shapes: {
    parts: (size) =>
      `{"content":[${'{"type":"text","text":"a"},'.repeat(size / 26)}{"type":"text","text":"b"}]}`,
    structured: (size) =>
      `{"content":[],"structuredContent":{"a":${jsonValues["nested lists"]!(size)}}}`,
    "a long text": (size) => `{"content":[{"type":"text","text":"${"a".repeat(size)}"}]}`,
  },
  send({ url, headers, serve }, text) {
    serve(text, "application/json");
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "wide_t", arguments: {} },
    };
    return post(
      `${url}/mcp`,
      { ...headers, accept: "application/json, text/event-stream" },
      JSON.stringify(call),
    );
  },
};

export const entryPoints: readonly EntryPoint[] = [
  ...bodies,
  ...members,
  browser,
  model,
  ...webhooks,
  upload,
  ...sources,
  ...upstreams,
  mcp,
];
