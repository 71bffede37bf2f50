/** Bodies that the gateway and an upstream could read differently, and names that could break headers and records. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { eachMember } from "../../../../plugins/models/openai/members.ts";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";
import { assertLinear, repeated } from "../../../support/growth.ts";
import { until } from "../../../support/until.ts";
import {
  chunk,
  completion,
  DONE,
  eventsOf,
  hello,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../../support/upstreams/upstream.ts";

const test = suite("requests hostile");
let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream((request, res) =>
    request.body.stream ? stream(res, ...hello) : json(res, completion("ok")),
  );
  gateway = await startGateway({
    config: {
      channels: {
        main: {
          provider: "openai",
          baseUrl: up.url,
          apiKey: "sk-main-1",
          models: ["cheap", "dear", "third"],
          maxRetries: 0,
        },
        one: {
          provider: "openai",
          baseUrl: up.url,
          apiKey: "sk-one-1",
          models: ["only"],
          maxConcurrent: 1,
          queueTimeoutMs: 0,
          maxRetries: 0,
        },
        claude: {
          provider: "anthropic",
          baseUrl: up.url,
          apiKey: "sk-claude-1",
          models: ["c"],
          maxConcurrent: 1,
          queueTimeoutMs: 0,
        },
      },
    },
  });
});
test.before.each(() => {
  up.seen.length = 0;
  up.answer = (request, res) =>
    request.body.stream ? stream(res, ...hello) : json(res, completion("ok"));
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const messages = [{ role: "user", content: "hi" }];
const raw = (body: string, path = "/v1/chat/completions", token = gateway.token) =>
  fetch(gateway.url + path, {
    method: "POST",
    body,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  });
const rest = `"messages":${JSON.stringify(messages)},"max_tokens":9`;

test("members that an upstream may take for the model are refused on every route", async () => {
  const bodies = [
    `{"model":"cheap","Model":"dear",${rest}}`,
    `{"MODEL":"dear",${rest},"model":"cheap"}`,
    `{"model":"cheap","Models":["dear"],${rest}}`,
    `{"model":"cheap","model\u017f":["dear"],${rest}}`,
    `{"model":"cheap","model ":"dear",${rest}}`,
    `{"model":"cheap","\uff4dodel":"dear",${rest}}`,
    `{"model":"cheap","\\uff4d\\uff4fdel\\u017f":["dear"],${rest}}`,
    `{"model":"cheap","\\u0000model\\u200b":"dear",${rest}}`,
    `{"model":"dear",${rest},"model":"cheap"}`,
    `{"model":"dear",${rest},"mod\\u0065l":"cheap"}`,
    `{"model":"cheap","models":["dear"],${rest},"models":["cheap"]}`,
    `{"model":"cheap","messages":[{"role":"user","content":"other"}],${rest}}`,
    `{"model":"cheap",${rest},"extra_body":{"model":"dear"}}`,
    `{"model":"cheap",${rest},"extra_body":{"Models":["dear"]}}`,
  ];
  for (const body of bodies) {
    for (const path of ["/v1/chat/completions", "/v1/messages"]) {
      const response = await raw(body, path);
      assert.is(response.status, 400, `${path} ${body}: ${await response.clone().text()}`);
      assert.match(await response.text(), /invalid_request_error/);
    }
  }
  for (const path of ["/v1/responses", "/v1/embeddings"]) {
    assert.is((await raw('{"model":"cheap","Model":"dear","input":"x"}', path)).status, 400);
    assert.is((await raw('{"model":"dear","input":"x","model":"cheap"}', path)).status, 400);
  }
  assert.is(up.seen.length, 0);
});

test("a duplicate member is refused on every route, since upstreams differ in which one they read", async () => {
  const twice = [
    '"temperature":9,"temperature":1',
    '"stream":true,"stream":false',
    '"max_tokens":99999,"max_tokens":9',
    '"n":50,"n":1',
    '"tools":[],"tools":null',
    '"foo":1,"fo\\u006f":1',
    '"1":1,"1":2',
    '"__proto__":1,"__proto__":2',
  ];
  for (const members of twice) {
    const limit = members.includes("max_tokens") ? "" : ',"max_tokens":9';
    for (const path of [
      "chat/completions",
      "messages",
      "responses",
      "embeddings",
      "completions",
      "moderations",
    ]) {
      const promptMembers =
        path === "completions"
          ? '"prompt":"x"'
          : `"messages":${JSON.stringify(messages)},"input":"x"`;
      const response = await raw(
        `{"model":"cheap",${promptMembers}${limit},${members}}`,
        `/v1/${path}`,
      );
      assert.is(response.status, 400);
      assert.match(await response.text(), /occurs twice/, `${path} ${members}`);
    }
  }
  assert.is(up.seen.length, 0);
});

test("bodies that hold more than the limits are refused before they are read, on every route", async () => {
  const wide = (count: number) => Array.from({ length: count }, (_, i) => `"k${i}":1`).join(",");
  for (const path of [
    "chat/completions",
    "messages",
    "responses",
    "embeddings",
    "completions",
    "moderations",
  ]) {
    for (const [more, limit] of [
      [wide(10_001), "maxMembers"],
      [`"metadata":{${wide(10_001)}}`, "maxMembers"],
      [`"list":[${'{"a":1,"b":2},'.repeat(34_000)}1]`, "maxValues"],
      [`"list":[${"[],".repeat(100_000)}1]`, "maxValues"],
      [`"list":${"[".repeat(100)}${"]".repeat(100)}`, "maxDepth"],
    ] as const) {
      const response = await raw(
        `{"model":"cheap","prompt":"x","input":"x",${rest},${more}}`,
        `/v1/${path}`,
      );
      assert.is(response.status, 400, path);
      assert.match(await response.text(), `gateway.http.${limit}`, path);
    }
  }
  assert.is(up.seen.length, 0);
  const most = `"metadata":{${wide(9_000)}},"list":[${"1,".repeat(80_000)}1]`;
  assert.is((await raw(`{"model":"cheap",${rest},${most}}`)).status, 200);
});

test("the members of a body are located in time proportional to its size", () => {
  for (const token of [
    '"',
    '\\"',
    "\\",
    '"\\\\" ',
    '" ',
    '"a":',
    "{",
    "}]",
    '{"a":"',
    '"a" \n',
    ":",
    "\u0000",
  ])
    for (const start of ["", "{", '{"'])
      assertLinear(`${start}${token}…`, 100_000, repeated(token, start), (text) =>
        eachMember(text, () => {}),
      );
});

test("the same names deeper in a body, and in texts, are accepted", async () => {
  const body = `{"model":"cheap","messages":[{"role":"user","content":"\\"model\\": \\u0041 \\"model\\""}],"metadata":{"model":"x","Model":"y"},"x":["model","model"]}`;
  assert.is((await raw(body)).status, 200);
  assert.is(up.seen[0]!.body.metadata.Model, "y");
});

test("models is a list of fallbacks, and never reaches an upstream", async () => {
  up.answer = (request, res) =>
    request.body.model === "third"
      ? json(res, completion("third"))
      : json(res, { error: { message: "no" } }, 500);
  const response = await raw(`{"models":["cheap","dear","nowhere","third","cheap"],${rest}}`);
  assert.is(response.status, 200);
  assert.is(response.headers.get("x-portico-model"), "third");
  assert.equal(
    up.seen.map((request) => [request.body.model, request.body.models]),
    ["cheap", "dear", "third"].map((model) => [model, undefined]),
  );
  up.seen.length = 0;
  const after = await raw(`{"model":"dear","models":["cheap","third"],${rest}}`);
  assert.is(after.headers.get("x-portico-model"), "third");
  for (const models of ["[]", '"cheap"', "[1]", '[""]', `[${Array(17).fill('"a"').join()}]`])
    assert.is((await raw(`{"model":"cheap","models":${models},${rest}}`)).status, 400, models);
  assert.is((await raw(`{"model":"cheap","models":null,${rest}}`)).status, 502);
});

test("embeddings use models as fallbacks as well, and upstreams never receive the list", async () => {
  up.answer = (request, res) =>
    request.body.model === "third"
      ? json(res, { data: [{ index: 0, embedding: [1] }] })
      : json(res, { error: { message: "no" } }, 500);
  const created = await gateway.json("POST", "/keys", {
    name: "vectors",
    models: ["cheap", "third"],
  });
  const body = JSON.stringify({ model: "cheap", models: ["dear", "third"], input: "x" });
  assert.is((await raw(body, "/v1/embeddings", created.key)).status, 200);
  // The first may be cooling down by now.
  assert.equal(up.seen.at(-1)!.body, { input: "x", model: "third" });
  assert.not.ok(up.seen.some((request) => request.raw.includes("dear")));
});

test("a byte order mark is ignored and not sent on", async () => {
  assert.is((await raw(`\ufeff{"model":"main/cheap",${rest}}`)).status, 200);
  assert.ok(up.seen[0]!.raw.startsWith("{"));
});

test("a client key cannot reach a forbidden model by models", async () => {
  const created = await gateway.json("POST", "/keys", { name: "small", models: ["cheap"] });
  up.answer = (_, res) => json(res, { error: { message: "no" } }, 500);
  const mixed = await raw(`{"model":"cheap","models":["dear"],${rest}}`, undefined, created.key);
  assert.is(mixed.status, 502);
  assert.equal(
    up.seen.map((request) => request.body.model),
    ["cheap"],
  );
  assert.is((await raw(`{"models":["dear","cheap"],${rest}}`, undefined, created.key)).status, 403);
  assert.is(
    (await raw(`{"model":"cheap","model":"dear",${rest}}`, undefined, created.key)).status,
    400,
  );
});

test("a lone surrogate in the name of a model or member does not leak a concurrency slot", async () => {
  for (let i = 0; i < 3; i++) {
    for (const streaming of [true, false]) {
      const odd = await raw(`{"model":"one/only\\ud800","stream":${streaming},${rest}}`);
      assert.is(odd.status, 200, await odd.text());
      const dropped = await raw(
        `{"model":"claude/c","stream":${streaming},${rest},"odd\\udc00":1}`,
      );
      assert.ok([400, 502].includes(dropped.status), `${dropped.status} ${await dropped.text()}`);
    }
  }
  await until("all places are free", async () => {
    const { channels } = await gateway.json("GET", "/channels");
    return channels.every((channel: { inFlight: number }) => channel.inFlight === 0);
  });
});

test("a stream whose client disconnects is charged for the tokens that were sent", async () => {
  const texts = Array.from({ length: 40 }, () => "some words of it ");
  for (const finish of [[], [chunk({}, "stop")]]) {
    up.answer = (_, res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      for (const event of [
        chunk({ role: "assistant", content: "" }),
        ...texts.map((content) => chunk({ content })),
        ...finish,
      ])
        res.write(event);
    };
    const before = await spent();
    const response = await raw(`{"model":"dear","stream":true,${rest}}`);
    const reader = response.body!.getReader();
    let received = "";
    while (
      !received.includes(finish.length > 0 ? '"finish_reason":"stop"' : texts.join("").slice(-5)) ||
      received.length < 5000
    )
      received += Buffer.from((await reader.read()).value!).toString();
    await reader.cancel();
    await until("the request is counted", async () => (await spent()) > before + 40);
  }
});
const spent = async (): Promise<number> => {
  const { total } = await gateway.json("GET", "/usage");
  return total.completionTokens;
};

test("a client that disconnects releases its concurrency slot", async () => {
  up.answer = (_, res) => void stream(res, chunk({ role: "assistant", content: "x" }));
  const response = await raw(`{"model":"one/only","stream":true,${rest},"user":"u"}`);
  await response.body!.cancel();
  await until("all places are free", async () => {
    const { channels } = await gateway.json("GET", "/channels");
    return channels.find((channel: { name: string }) => channel.name === "one").inFlight === 0;
  });
});

test("ids always begin with chatcmpl, and all chunks of a stream share one id", async () => {
  const other = (delta: object, id: string, finish: string | null = null) =>
    chunk(delta, finish, { id });
  up.answer = (request, res) =>
    request.body.stream
      ? stream(
          res,
          other({ role: "assistant", content: "" }, "gen-1"),
          ...["a", "b\\n", "c é", "d"].map((content) => other({ content }, "gen-1")),
          other({ content: "e" }, "gen-2"),
          other({}, "gen-1", "stop"),
          DONE,
        )
      : json(res, { ...completion("ok"), id: "gen-1" });
  const whole = (await (await raw(`{"model":"cheap",${rest}}`)).json()) as { id: string };
  assert.match(whole.id, /^chatcmpl-./);
  const events = eventsOf(
    await (await raw(`{"model":"cheap","stream":true,${rest}}`)).text(),
  ).filter((event) => event.id);
  assert.is(new Set(events.map(({ id }) => id)).size, 1);
  assert.match(events[0].id, /^chatcmpl-./);
  assert.is(events.map((event) => event.choices[0].delta.content ?? "").join(""), "ab\\nc éde");
});

test("a streamed call without arguments receives an empty object", async () => {
  const call = (index: number, args?: string | null) => ({
    tool_calls: [
      { index, id: `c${index}`, type: "function", function: { name: "f", arguments: args } },
    ],
  });
  const blank = (index: number, ...parts: string[]) =>
    parts.map((part) => chunk({ tool_calls: [{ index, function: { arguments: part } }] }));
  up.answer = (_, res) =>
    stream(
      res,
      chunk({ role: "assistant", content: null }),
      chunk(call(0, "")),
      chunk(call(1)),
      chunk(call(2, "")),
      chunk({ tool_calls: [{ index: 2, function: { arguments: '{"a"' } }] }),
      chunk({ tool_calls: [{ index: 2, function: { arguments: ":1}" } }] }),
      chunk(call(3, null)),
      ...blank(3, " ", "\n"),
      chunk(call(4, " ")),
      ...blank(4, "  ", '{"b"', ":2}", " "),
      chunk({}, "tool_calls"),
      DONE,
    );
  const text = await (await raw(`{"model":"cheap","stream":true,${rest}}`)).text();
  const argumentTexts = ["", "", "", "", ""];
  for (const event of eventsOf(text))
    for (const { index, function: fn } of event.choices?.[0]?.delta.tool_calls ?? [])
      if (fn !== undefined && "arguments" in fn) argumentTexts[index] += fn.arguments;
  assert.equal(argumentTexts, ["{}", "{}", '{"a":1}', " \n{}", '   {"b":2} ']);
  assert.ok(text.indexOf('"{}"') < text.indexOf('"finish_reason":"tool_calls"'), text);
});

test("whole calls without arguments or a finish reason receive both", async () => {
  for (const finish of [undefined, null, "", "stop"]) {
    for (const args of [undefined, null, "", " \n", {}]) {
      const calls = [{ id: "c", type: "function", function: { name: "f", arguments: args } }];
      const choice = {
        index: 0,
        message: { role: "assistant", tool_calls: calls },
        finish_reason: finish,
      };
      up.answer = (_, res) => json(res, { choices: [choice] });
      const { choices } = (await (await raw(`{"model":"main/whole",${rest}}`)).json()) as any;
      assert.is(choices[0].finish_reason, "tool_calls", `${finish}`);
      assert.is(choices[0].message.tool_calls[0].function.arguments, "{}");
    }
  }
});

test("stream_options are passed on only with stream", async () => {
  await raw(`{"model":"cheap","stream_options":{"include_usage":true},${rest}}`);
  await raw(`{"model":"cheap","stream":false,"stream_options":{"include_usage":true},${rest}}`);
  assert.equal(
    up.seen.map((request) => request.body.stream_options),
    [undefined, undefined],
  );
});

test("every model that chat accepts can be looked up, and the error for an unknown one suggests the nearest", async () => {
  for (const id of ["cheap", "main/cheap", "main/whatever", "echo", "claude/x%2Fy", "agent"])
    assert.is((await gateway.request("GET", `/v1/models/${id}`)).status, 200, id);
  for (const ask of [
    () => gateway.request("GET", "/v1/models/chaep"),
    () => gateway.request("POST", "/v1/chat/completions", { model: "chaep", messages }),
  ]) {
    const response = await ask();
    assert.is(response.status, 404);
    assert.match(await response.text(), /Did you mean `cheap`\?/);
  }
  // `main` accepts more than it lists
  const mistyped = await gateway.request("POST", "/v1/chat/completions", {
    model: "mian/whatever",
    messages,
  });
  assert.match(await mistyped.text(), /Did you mean `main\/whatever`\?/);
  assert.is((await gateway.request("GET", "/v1/models/%E0%A4%A")).status, 400);
});

test("the error for a path that only lacks /v1 names the right path", async () => {
  for (const [method, path] of [
    ["POST", "/chat/completions"],
    ["GET", "/models"],
    ["GET", "/models/cheap"],
  ] as const) {
    const response = await gateway.request(method, path, method === "POST" ? {} : undefined);
    assert.is(response.status, 404);
    assert.match(await response.text(), new RegExp(`/v1${path}`));
  }
});

test.run();
