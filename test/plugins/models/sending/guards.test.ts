/** Guard hooks: redaction over the pieces of every provider's stream, and refusal by broken guards on every route. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, packageDir, startGateway } from "../../../support/gateway.ts";
import { dialects, type FakeProvider, startProvider } from "../../../support/upstreams/index.ts";

const test = suite("guards");
const TOKEN = "a-webhook-token-of-the-test";
const KEY = "sk-abcdefghij0123456789";
const fakes = new Map<string, FakeProvider>();
let gateway: InProcessGateway;

test.before(async () => {
  const channels: Record<string, unknown> = {};
  for (const dialect of dialects) {
    const fake = await startProvider(dialect);
    fakes.set(dialect.name, fake);
    channels[dialect.name] = { ...dialect.channel(fake.root), models: ["*"], maxRetries: 0 };
  }
  const model = `openai/${dialects[0]!.model}`;
  gateway = await startGateway({
    config: {
      channels,
      agents: { defaults: { model, heartbeat: { every: "0" }, maxAttempts: 1 } },
      webhooks: {
        token: TOKEN,
        mappings: { map: { message: "{body.x}", wait: true, respond: { body: "{result}" } } },
      },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  for (const fake of fakes.values()) await fake.close();
});

/** Replaces the single hook. */
async function hook(
  descriptor: string,
  handler: string,
  files: Record<string, string> = {},
): Promise<void> {
  for (const [name, text] of Object.entries({ ...files, "handler.ts": handler }))
    gateway.write(`hooks/guard/${name}`, text);
  gateway.write("hooks/guard/HOOK.md", `---\n${descriptor}\n---\n`);
  await gateway.json("POST", "/kernel/hooks/rescan");
  await gateway.json("POST", "/kernel/hooks/guard/enable");
}

const user = [{ role: "user", content: "hi" }];
type Door = (stream: boolean, model: string) => Promise<Response>;
const formats: Record<string, Door> = {
  chat: (stream, model) =>
    gateway.request("POST", "/v1/chat/completions", { model, messages: user, stream }),
  messages: (stream, model) =>
    gateway.request("POST", "/v1/messages", { model, max_tokens: 9, messages: user, stream }),
  responses: (stream, model) =>
    gateway.request("POST", "/v1/responses", { model, input: "hi", stream }),
};
const webhook = (path: string, body: object) =>
  fetch(`${gateway.url}/hooks/${path}`, {
    method: "POST",
    headers: { "x-service-token": TOKEN, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
/** Returns the text of a stream or a whole response. */
const textOf = (text: string) =>
  Array.from(
    text.matchAll(/"(?:content|text|delta)":"((?:[^"\\]|\\.)*)"/g),
    ([, part]) => part,
  ).join("");

for (const dialect of dialects) {
  test(`${dialect.name}: redact removes text that arrives in pieces, in each format, whole and streamed`, async () => {
    const file = (name: string) =>
      readFileSync(join(packageDir, "examples/hooks/redact", name), "utf8");
    const text = `Ask ada@example.org, or take ${KEY}.`.match(/.{1,3}/g)!;
    fakes.get(dialect.name)!.next = { answer: { text } };
    for (const events of ["message:sending", "message:streaming"]) {
      await hook(`events: [${events}]`, file("handler.ts"), { "patterns.ts": file("patterns.ts") });
      for (const [name, ask] of Object.entries(formats)) {
        for (const stream of events === "message:streaming" ? [true] : [false, true]) {
          const what = `${name}, ${stream ? "stream" : "whole"}, ${events}`;
          const response = await ask(stream, `${dialect.name}/${dialect.model}`);
          const body = await response.text();
          assert.is(response.status, 200, `${what}: ${body}`);
          assert.ok(textOf(body).includes("Ask [e-mail], or take [key]."), `${what}: ${body}`);
          assert.not.ok(
            textOf(body).includes(KEY) || body.includes("abcdefghij"),
            `${what}: ${body}`,
          );
        }
      }
    }
  });
}

test("a broken guard refuses on every route, whole and streamed", async () => {
  const model = `openai/${dialects[0]!.model}`;
  const doors: Record<string, (stream: boolean) => Promise<Response>> = {
    "POST /agent": (stream) =>
      gateway.request("POST", "/agent", { message: "hi", stream, wait: !stream }),
    "a webhook's agent": () => webhook("agent", { message: "hi", wait: true }),
    "a webhook's mapping": () => webhook("map", { x: "hi" }),
  };
  for (const [name, ask] of Object.entries(formats)) {
    doors[name] = (stream) => ask(stream, model);
    doors[`agent by ${name}`] = (stream) => ask(stream, "agent");
  }
  const broken = 'export default () => { throw new Error("broken"); };';
  const upstream = fakes.get("openai")!;
  upstream.next = { answer: { text: ["the SEC", "RET is out"] } };
  const requests = Object.entries(doors).flatMap(([name, ask]) => {
    const forms = /webhook/.test(name) ? [false] : [false, true];
    return forms.map((stream) => ({ name, ask, stream }));
  });
  for (const [event, handler, before] of [
    ["message:received", broken, true],
    ["message:received", "export default (event => {", true],
    ["chat:request", broken, true],
    ["message:sending", broken, false],
    ["message:streaming", broken, false],
  ] as const) {
    for (const { name, ask, stream } of requests) {
      if (event === "message:streaming" && !stream) continue;
      await hook(`events: [${event}]\nfailClosed: true`, handler);
      upstream.seen.length = 0;
      const what = `${event}, ${name}, ${stream ? "stream" : "whole"}`;
      await assertRefusal(await ask(stream), stream, what);
      if (before) assert.is(upstream.seen.length, 0, what);
    }
  }
});

async function assertRefusal(response: Response, stream: boolean, what: string): Promise<void> {
  const body = await response.text();
  // Of a stream that has begun the refusal is its last event.
  assert.ok(
    response.status === 503 || (stream && response.status === 200),
    `${what}: ${response.status} ${body}`,
  );
  assert.match(body, /hook_unavailable|overloaded_error/, what);
  assert.not.match(body, /SEC|RET/, what);
}

test.run();
