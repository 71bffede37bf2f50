/** Whole numbers beyond 2^53 in the schemas of tools: to the upstream, back to the client, and in what is stored. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { suite } from "../../support/suite.ts";
import {
  completion,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("responses long numbers");
let up: Upstream;
let gateway: InProcessGateway;
/** With hooks that change requests and streams. */
let hooked: InProcessGateway;

const DIGITS = "9007199254740993123";
const NUMBER = `"enum":[${DIGITS}]`;
const tools = `[{"type":"function","name":"calc","parameters":{"type":"object","properties":{"n":{${NUMBER}}}}}]`;
const bodyOf = (model: string, more: object = {}) =>
  `{"model":"${model}","input":"go","tools":${tools},${JSON.stringify(more).slice(1)}`;

/** A response of the format, which repeats the tools of its request as they were sent. */
function nativeAnswer(raw: string): string {
  const sent = /"tools":(\[.*?\}\}\}\}\])/.exec(raw)?.[1] ?? "[]";
  return `{"id":"resp_up","object":"response","created_at":1,"status":"completed","model":"m","output":[{"id":"msg_up","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}]}],"tools":${sent},"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`;
}

function nativeEvents(raw: string): string {
  const whole = nativeAnswer(raw);
  const begun = whole.replace('"status":"completed"', '"status":"in_progress"');
  const events = [
    ["response.created", begun],
    ["response.completed", whole],
  ];
  return events
    .map(
      ([type, response], number) =>
        `event: ${type}\ndata: {"type":"${type}","sequence_number":${number},"response":${response}}\n\n`,
    )
    .join("");
}

test.before(async () => {
  up = await startUpstream(({ path, raw, body }, res) => {
    if (path.endsWith("/chat/completions") && !body.stream) return json(res, completion("ok"));
    if (!path.endsWith("/responses")) return json(res, { error: { message: "enough" } }, 400);
    res.writeHead(200, {
      "content-type": body.stream ? "text/event-stream" : "application/json",
    });
    res.end(body.stream ? nativeEvents(raw) : nativeAnswer(raw));
  });
  const base = { models: ["*"], maxRetries: 0, apiKey: "secret-key-of-the-channel" };
  const root = up.url.replace(/\/v1$/, "");
  const config = {
    channels: {
      oai: { ...base, provider: "openai", baseUrl: up.url },
      own: { ...base, provider: "openai", baseUrl: up.url, responses: true },
      claude: { ...base, provider: "anthropic", baseUrl: root },
      google: { ...base, provider: "gemini", baseUrl: root },
    },
  };
  gateway = await startGateway({ config });
  hooked = await startGateway({
    config,
    files: {
      ...hookFiles(
        "cool",
        'const { request } = event.context; if (!request.model.startsWith("own")) request.temperature = 0.5;',
        { events: "chat:request" },
      ),
      ...hookFiles("loud", 'event.context.text = event.context.text.replace("ok", "OK");', {
        events: "message:streaming",
      }),
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await hooked?.stop();
  await up?.close();
});

test("every upstream gets the digits as a number", async () => {
  for (const model of ["oai/m", "own/m", "claude/claude-x", "google/gemini-2.5-pro"]) {
    for (const stream of [false, true]) {
      await gateway.request("POST", "/v1/responses", bodyOf(model, { stream }));
      assert.match(up.seen.at(-1)!.raw, NUMBER, `${model}, stream: ${stream}`);
    }
  }
});

test("the response and the stored response repeat the digits", async () => {
  for (const model of ["oai/m", "own/m"]) {
    const first = await gateway.request("POST", "/v1/responses", bodyOf(model, { store: true }));
    const text = await first.text();
    assert.match(text, NUMBER, model);
    const { id } = JSON.parse(text);
    const stored = await gateway.request("GET", `/v1/responses/${id}`);
    assert.is(await stored.text(), text, model);
    const next = bodyOf(model, { previous_response_id: id });
    assert.is((await gateway.request("POST", "/v1/responses", next)).status, 200);
  }
});

test("responses that an earlier version stored as values can still be read", async () => {
  const response = { id: "resp_ab12", object: "response", output: [] };
  const { kv } = gateway.gateway.use("store");
  await kv.set("responses", response.id, { response, input: [] }, { ttlMs: 60_000 });
  assert.equal(await gateway.json("GET", `/v1/responses/${response.id}`), response);
});

test("the events of a stream repeat the digits", async () => {
  const response = await gateway.request(
    "POST",
    "/v1/responses",
    bodyOf("own/m", { stream: true }),
  );
  const events = await response.text();
  for (const type of ["response.created", "response.completed"]) {
    const [event = ""] = events.split("\n\n").filter((block) => block.startsWith(`event: ${type}`));
    assert.match(event, NUMBER, type);
  }
});

test("hooks that change a request or a stream leave the digits unchanged", async () => {
  const chat = `{"model":"MODEL","messages":[{"role":"user","content":"go"}],"tools":[{"type":"function","function":{"name":"calc","parameters":{"type":"object","properties":{"n":{${NUMBER}}}}}}]}`;
  for (const model of ["oai/m", "claude/claude-x"]) {
    await hooked.request("POST", "/v1/chat/completions", chat.replace("MODEL", model));
    const { raw, body } = up.seen.at(-1)!;
    assert.match(raw, NUMBER, model);
    assert.is(body.temperature, 0.5, model);
  }
  const response = await hooked.request("POST", "/v1/responses", bodyOf("own/m", { stream: true }));
  const events = await response.text();
  assert.match(up.seen.at(-1)!.raw, NUMBER);
  assert.is(events.split(NUMBER).length - 1, 2);
});

test("a number that a limit refuses is refused, however long it is", async () => {
  const body = `{"model":"oai/m","input":"go","max_output_tokens":${DIGITS}}`;
  assert.is((await gateway.request("POST", "/v1/responses", body)).status, 400);
});

test.run();
