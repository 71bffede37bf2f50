/** Traces as a collector gets them. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { tracesUrl } from "../../../plugins/telemetry/exporter.ts";
import { createSpan } from "../../../plugins/telemetry/span.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

interface Span {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code?: number };
  attributes: Record<string, unknown>;
}

const test = suite("telemetry");
const spans: Span[] = [];
let requests: { url?: string; headers: IncomingHttpHeaders; service?: unknown; status: number }[] =
  [];
let texts = "";
let collectorStatus = 503;
let collector: Server;
let gateway: InProcessGateway;

type Attribute = { key: string; value: Record<string, unknown> };
const plain = (attributes: Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

test.before(async () => {
  collector = createServer((req, res) => {
    let text = "";
    req.on("data", (chunk) => {
      text += chunk;
    });
    req.on("end", () => {
      const [{ resource, scopeSpans }] = JSON.parse(text).resourceSpans;
      const service = plain(resource.attributes)["service.name"];
      requests.push({ url: req.url, headers: req.headers, service, status: collectorStatus });
      if (collectorStatus === 200) {
        texts += text;
        for (const span of scopeSpans[0].spans)
          spans.push({ ...span, attributes: plain(span.attributes) });
      }
      res.writeHead(collectorStatus).end("{}");
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  const { port } = collector.address() as AddressInfo;
  gateway = await startGateway({
    config: {
      telemetry: {
        otlp: `http://127.0.0.1:${port}`,
        headers: { "x-key": "collector-key-1" },
        flushMs: 20,
      },
      channels: {
        gone: {
          provider: "openai",
          baseUrl: "http://127.0.0.1:9/v1",
          apiKey: "sk-gone-1",
          maxRetries: 0,
        },
      },
      agents: { defaults: { model: "echo" } },
    },
  });
});
test.after(async () => {
  await gateway.stop();
  collector.closeAllConnections();
  collector.close();
});

const ask = (body: object) =>
  gateway.request("POST", "/v1/chat/completions", {
    messages: [{ role: "user", content: "secret words" }],
    ...body,
  });
const spanNamed = (name: string): Promise<Span> =>
  until(`the span ${name}`, async () => spans.find((span) => span.name === name));

test("a request is a span, and is kept while the collector is away", async () => {
  await (await ask({ model: "echo" })).text();
  await until("refused tries", async () => requests.length > 1);
  collectorStatus = 200;
  const { attributes, kind, traceId, spanId, status, ...span } = await spanNamed("chat echo");
  assert.equal([kind, status], [3, {}]);
  assert.match(`${traceId} ${spanId}`, /^[0-9a-f]{32} [0-9a-f]{16}$/);
  assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano));
  assert.ok(Math.abs(Number(BigInt(span.endTimeUnixNano) / 1_000_000n) - Date.now()) < 60_000);
  assert.is(attributes["gen_ai.operation.name"], "chat");
  assert.is(attributes["gen_ai.provider.name"], "echo");
  assert.is(attributes["gen_ai.request.model"], "echo");
  assert.is(attributes["http.response.status_code"], "200");
  assert.ok(Number(attributes["gen_ai.usage.input_tokens"]) > 0);
  assert.is(spans.filter(({ name }) => name === "chat echo").length, 1, "nothing is sent twice");
  const { url, headers, service } = requests[0]!;
  assert.equal([url, headers["x-key"], service], ["/v1/traces", "collector-key-1", "portico"]);
  // The collector has them a moment before its response is here.
  const warnings = () => gateway.lines.filter(({ msg }) => /telemetry\.otlp/.test(String(msg)));
  await until("the word that it is back", async () => warnings().length > 1);
  assert.is(warnings().length, 2, "away and back are each said once");
});

test("a failed request is a failed span, a stream is measured, and other routes have their names", async () => {
  assert.is((await ask({ model: "gone/gpt-x" })).status, 502);
  const failed = await spanNamed("chat gpt-x");
  assert.equal([failed.status.code, failed.attributes["error.type"]], [2, "502"]);
  assert.is(failed.attributes["portico.channel"], "gone");
  await (await ask({ model: "echo", stream: true })).text();
  await until("the stream's", async () =>
    spans.some(({ attributes }) => attributes["portico.stream"] === true),
  );
  await (await gateway.request("POST", "/v1/embeddings", { model: "gone/emb", input: "x" })).text();
  await spanNamed("embeddings emb");
});

test("a request with a traceparent belongs to that trace, and an invalid one is ignored", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const messages = [{ role: "user", content: "hi" }];
  const traced = async (traceparent: string, path: string, body: object): Promise<Span> => {
    const before = spans.length;
    await (await gateway.request("POST", path, body, { headers: { traceparent } })).text();
    await until("its span", async () => spans.length > before);
    return spans.at(-1)!;
  };
  for (const [path, body] of [
    ["/v1/chat/completions", { model: "echo", messages }],
    ["/v1/messages", { model: "echo", max_tokens: 9, messages }],
    ["/v1/embeddings", { model: "gone/emb", input: "x" }],
    ["/v1/completions", { model: "gone/text", prompt: "x" }],
  ] as const) {
    const span = await traced(`00-${traceId}-00f067aa0ba902b7-00`, path, body);
    assert.equal([span.traceId, span.parentSpanId], [traceId, "00f067aa0ba902b7"], path);
  }
  for (const wrong of [
    "",
    "x",
    `ff-${traceId}-00f067aa0ba902b7-01`,
    `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
  ]) {
    const span = await traced(wrong, "/v1/chat/completions", { model: "echo", messages });
    assert.is(span.parentSpanId, undefined, wrong);
    assert.match(span.traceId, /^[0-9a-f]{32}$/);
    assert.is.not(span.traceId, traceId);
  }
});

test("a span holds nothing that a collector cannot read", () => {
  const half = `${"a".repeat(255)}😀`;
  const span = createSpan({
    name: half,
    kind: "internal",
    endedAt: 1,
    ms: 0,
    attributes: {
      cut: half,
      lone: "x\ud800",
      endless: Number.POSITIVE_INFINITY,
      none: Number.NaN,
      large: 1e21,
      whole: 3,
    },
  });
  const { name, attributes } = JSON.parse(JSON.stringify(span));
  assert.is(name, `${"a".repeat(255)}\ufffd`);
  assert.equal(plain(attributes), { cut: name, lone: "x\ufffd", large: 1e21, whole: "3" });
});

test("the span of a turn contains its tools, and no text of the conversation", async () => {
  const message = 'Call the tool sessions, please: {"action":"list"}';
  const { turnId } = await gateway.json("POST", "/agent", { message, session: "tea", wait: true });
  const turn = await spanNamed("invoke_agent main");
  assert.is(turn.attributes["portico.turn_id"], turnId);
  assert.is(turn.attributes["gen_ai.conversation.id"], "tea");
  const tool = spans.find(({ name }) => name.startsWith("execute_tool"));
  assert.ok(tool, spans.map(({ name }) => name).join());
  assert.equal([tool.traceId, tool.parentSpanId], [turn.traceId, turn.spanId]);
  assert.not.match(texts, /secret words|please|sk-gone-1|collector-key/);
});

test("without a collector nothing is sent any more", async () => {
  const config = await gateway.json("GET", "/kernel/config");
  assert.not.match(JSON.stringify(config.value), "collector-key-1", "its key is masked");
  const headers = { "if-match": `"${config.version}"` };
  const change = { key: "telemetry.otlp" };
  assert.is((await gateway.request("POST", "/kernel/config", change, { headers })).status, 200);
  const before = requests.length;
  await (await ask({ model: "echo" })).text();
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.is(requests.length, before);
  requests = [];
});

test("a collector is named by its root, or by the path itself", () => {
  assert.is(tracesUrl("http://127.0.0.1:4318"), "http://127.0.0.1:4318/v1/traces");
  assert.is(tracesUrl("https://otel.example/base/"), "https://otel.example/base/v1/traces");
  assert.is(tracesUrl("https://otel.example/x/v1/traces"), "https://otel.example/x/v1/traces");
});

test.run();
