import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { until } from "../../support/until.ts";
import { completion } from "../../support/upstreams/upstream.ts";
import { ask, gateway, hi, onScene, up, mainChannel } from "./chat-scene.ts";

const test = suite("chat");
onScene(test);

test("a response passes through with the gateway's headers, and the request has the channel's key instead of the caller's", async () => {
  const response = await ask({ model: "main/gpt-x", unknown_field: { a: [1] } });
  assert.is(response.status, 200);
  assert.equal(await response.json(), completion("Hello"));
  assert.is(response.headers.get("x-portico-channel"), "main");
  assert.is(response.headers.get("x-portico-model"), "gpt-x");
  assert.is(response.headers.get("x-portico-attempts"), "1");
  assert.ok(response.headers.get("x-request-id"));
  const [upstreamRequest] = up.seen;
  assert.is(upstreamRequest?.path, "/v1/chat/completions");
  assert.is(upstreamRequest?.headers.authorization, "Bearer sk-main");
  assert.is(upstreamRequest?.headers["x-extra"], "1");
  assert.equal(upstreamRequest?.body, { messages: hi, model: "gpt-x", unknown_field: { a: [1] } });
});

test("a request for a bare model that the upstream lists is sent byte for byte", async () => {
  const raw =
    '{ "model" : "gpt-x",\n "messages":[{"role":"user","content":"\\u0068i"}], "x": 1.0 }';
  const response = await gateway.request("POST", "/v1/chat/completions", raw);
  assert.is(response.status, 200);
  assert.is(up.seen[0]?.raw, raw);
  await gateway.request("POST", "/v1/chat/completions", raw.replace("gpt-x", "main/gpt-x"));
  assert.is(up.seen[1]?.raw, raw);
  const nested = JSON.stringify({ metadata: { model: "fast" }, model: "fast", messages: hi });
  await gateway.request("POST", "/v1/chat/completions", nested);
  assert.equal(up.seen[2]?.body, { metadata: { model: "fast" }, model: "gpt-x", messages: hi });
});

test("requests are routed by alias, channel/model and list, also with slashes; unknown models are 404", async () => {
  for (const [model, upstream] of [
    ["fast", "gpt-x"],
    ["chain", "gpt-x"],
    ["main/any/thing", "any/thing"],
    ["org/deep-model", "org/deep-model"],
  ]) {
    const response = await ask({ model });
    assert.is(response.status, 200, model);
    assert.is(up.seen.at(-1)?.body.model, upstream);
  }
  for (const model of ["nope", "off/gone", "gone", "nowhere/x"]) {
    const response = await ask({ model });
    assert.is(response.status, 404, model);
    const { error } = (await response.json()) as {
      error: { code: string; param: string; type: string };
    };
    assert.equal(
      [error.code, error.param, error.type],
      ["model_not_found", "model", "invalid_request_error"],
    );
  }
});

test("the list has each model once, and a model can be looked up by its name, raw or encoded", async () => {
  const { object, data: list } = await gateway.json("GET", "/v1/models");
  assert.is(object, "list");
  const ids = list.map((model: { id: string }) => model.id);
  for (const id of ["fast", "chain", "main/gpt-x", "main/org/deep-model", "echo"])
    assert.ok(ids.includes(id), id);
  assert.is(new Set(ids).size, ids.length);
  assert.not.ok(ids.includes("main/"), "an upstream's model without a name");
  for (const model of list)
    assert.ok(
      model.object === "model" &&
        Number.isInteger(model.created) &&
        typeof model.owned_by === "string",
    );
  assert.is(
    (await gateway.json("GET", "/v1/models/main/org/deep-model")).id,
    "main/org/deep-model",
  );
  assert.is(
    (await gateway.json("GET", "/v1/models/main%2Forg%2Fdeep-model")).id,
    "main/org/deep-model",
  );
  const missing = await gateway.request("GET", "/v1/models/zz");
  assert.is(missing.status, 404);
  assert.is(((await missing.json()) as { error: { code: string } }).error.code, "model_not_found");
});

test("a bad request is refused with the name of the field", async () => {
  const cases: [object, string | null][] = [
    [{ model: 3 }, "model"],
    [{ model: "echo", messages: [] }, "messages"],
    [{ model: "echo", messages: [...hi, { role: "robot", content: "x" }] }, "messages[1].role"],
    [{ model: "echo", messages: [{ role: "user" }] }, "messages[0].content"],
    [
      { model: "echo", messages: [{ role: "user", content: [{ type: "text" }] }] },
      "messages[0].content[0].text",
    ],
    [{ model: "echo", temperature: 2.1 }, "temperature"],
    [{ model: "echo", temperature: "1" }, "temperature"],
    [{ model: "echo", max_tokens: 0 }, "max_tokens"],
    [{ model: "echo", stream: "yes" }, "stream"],
    [
      { model: "echo", stream: true, stream_options: { include_usage: "yes" } },
      "stream_options.include_usage",
    ],
    [{ model: "echo", tools: [{ type: "function", function: {} }] }, "tools[0].function.name"],
    [{ model: "echo", tool_choice: "maybe" }, "tool_choice"],
    [[1], null],
  ];
  for (const [body, param] of cases) {
    const response = await gateway.request(
      "POST",
      "/v1/chat/completions",
      Array.isArray(body) ? body : { messages: hi, ...body },
    );
    assert.is(response.status, 400, JSON.stringify(body));
    const { error } = (await response.json()) as {
      error: { code: string; param: string | null; type: string; message: string };
    };
    assert.equal(
      [error.code, error.type, error.param],
      ["invalid_request_error", "invalid_request_error", param],
    );
  }
  assert.is(
    (
      (await (await gateway.request("POST", "/v1/chat/completions", "{nope")).json()) as {
        error: { code: string };
      }
    ).error.code,
    "invalid_json",
  );
  assert.is((await ask({ model: "echo" }, { "content-type": "text/plain" })).status, 415);
});

test("null means unset, and every role and part type is accepted", async () => {
  const messages = [
    { role: "developer", content: "d" },
    { role: "system", content: [{ type: "text", text: "s" }] },
    {
      role: "user",
      name: "n",
      content: [
        { type: "text", text: "u" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
      ],
    },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c", content: "r" },
    { role: "function", name: "f", content: null },
    { role: "user", content: "end" },
  ];
  const nulls = Object.fromEntries(
    [
      "stream",
      "temperature",
      "top_p",
      "max_tokens",
      "n",
      "stop",
      "tools",
      "tool_choice",
      "response_format",
      "user",
      "stream_options",
    ].map((key) => [key, null]),
  );
  const response = await ask({ model: "main/gpt-x", messages, ...nulls });
  assert.is(response.status, 200);
  assert.equal(up.seen[0]?.body.messages, messages);
});

test("credentials: 401 in OpenAI's form", async () => {
  for (const token of [null, "wrong"]) {
    const response = await gateway.request(
      "POST",
      "/v1/chat/completions",
      { model: "echo", messages: hi },
      { token },
    );
    assert.is(response.status, 401);
    assert.ok(response.headers.get("www-authenticate"));
    const { error } = (await response.json()) as { error: { code: string; type: string } };
    assert.equal([error.code, error.type], ["invalid_api_key", "authentication_error"]);
  }
});

test("a changed configuration is applied at runtime and keeps the state of unchanged parts", async () => {
  const file = (models: object) =>
    JSON.stringify({
      gateway: { port: 0, auth: { token: gateway.token } },
      channels: { main: mainChannel() },
      models,
    });
  const before = (await gateway.json("GET", "/channels")).channels.find(
    (channel: { name: string }) => channel.name === "main",
  );
  gateway.write("portico.json", file({ fresh: "main/gpt-x", fast: "main/gpt-x" }));
  await until("the new alias", async () => (await ask({ model: "fresh" })).status === 200);
  const after = (await gateway.json("GET", "/channels")).channels.find(
    (channel: { name: string }) => channel.name === "main",
  );
  assert.ok(after.requests > before.requests);
});

test.run();
