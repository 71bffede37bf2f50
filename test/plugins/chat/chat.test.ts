import { gzipSync } from "node:zlib";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import {
  chunk,
  completion,
  contentOf,
  DONE,
  data,
  eventsOf,
  hello,
  json,
  type Seen,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("chat");
let up: Upstream;
let gateway: InProcessGateway;
const hi = [{ role: "user", content: "hi" }];
const ask = (body: object, headers: Record<string, string> = {}) =>
  gateway.request("POST", "/v1/chat/completions", { messages: hi, ...body }, { headers });

test.before(async () => {
  up = await startUpstream((_, res) => json(res, completion("Hello")), { models: ["gpt-x", "org/deep-model"] });
  gateway = await startGateway({
    config: {
      channels: {
        main: {
          provider: "openai",
          baseUrl: `${up.url}/`,
          apiKey: "sk-main",
          headers: { "X-Extra": "1" },
          maxRetries: 0,
        },
        off: { provider: "openai", baseUrl: up.url, models: ["gone"], enabled: false },
      },
      models: { fast: "main/gpt-x", chain: { targets: ["nowhere/x", "fast"] } },
    },
  });
});
test.before.each(() => {
  up.seen.length = 0;
  up.answer = (seen, res) => (seen.body.stream ? stream(res, ...hello) : json(res, completion("Hello")));
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

test("an answer passes through with our headers; the key is ours, not the caller's", async () => {
  const answer = await ask({ model: "main/gpt-x", unknown_field: { a: [1] } });
  assert.is(answer.status, 200);
  assert.equal(await answer.json(), completion("Hello"));
  assert.is(answer.headers.get("x-portico-channel"), "main");
  assert.is(answer.headers.get("x-portico-model"), "gpt-x");
  assert.is(answer.headers.get("x-portico-attempts"), "1");
  assert.ok(answer.headers.get("x-request-id"));
  const [seen] = up.seen;
  assert.is(seen?.path, "/v1/chat/completions");
  assert.is(seen?.headers.authorization, "Bearer sk-main");
  assert.is(seen?.headers["x-extra"], "1");
  assert.equal(seen?.body, { messages: hi, model: "gpt-x", unknown_field: { a: [1] } });
});

test("a bare model that the upstream lists goes out byte for byte", async () => {
  const raw = '{ "model" : "gpt-x",\n "messages":[{"role":"user","content":"\\u0068i"}], "x": 1.0 }';
  const answer = await gateway.request("POST", "/v1/chat/completions", raw);
  assert.is(answer.status, 200);
  assert.is(up.seen[0]?.raw, raw);
  await gateway.request("POST", "/v1/chat/completions", raw.replace("gpt-x", "main/gpt-x"));
  assert.is(up.seen[1]?.raw, raw);
  const nested = JSON.stringify({ metadata: { model: "fast" }, model: "fast", messages: hi });
  await gateway.request("POST", "/v1/chat/completions", nested);
  assert.equal(up.seen[2]?.body, { metadata: { model: "fast" }, model: "gpt-x", messages: hi });
});

test("routes by alias, channel/model, list, with slashes; unknown ones are 404", async () => {
  for (const [model, upstream] of [
    ["fast", "gpt-x"],
    ["chain", "gpt-x"],
    ["main/any/thing", "any/thing"],
    ["org/deep-model", "org/deep-model"],
  ]) {
    const answer = await ask({ model });
    assert.is(answer.status, 200, model);
    assert.is(up.seen.at(-1)?.body.model, upstream);
  }
  for (const model of ["nope", "off/gone", "gone", "nowhere/x"]) {
    const answer = await ask({ model });
    assert.is(answer.status, 404, model);
    const { error } = (await answer.json()) as { error: { code: string; param: string; type: string } };
    assert.equal([error.code, error.param, error.type], ["model_not_found", "model", "invalid_request_error"]);
  }
});

test("lists models, each once; one by its name, raw or encoded", async () => {
  const { object, data: list } = await gateway.json("GET", "/v1/models");
  assert.is(object, "list");
  const ids = list.map((model: { id: string }) => model.id);
  for (const id of ["fast", "chain", "main/gpt-x", "main/org/deep-model", "echo"]) assert.ok(ids.includes(id), id);
  assert.is(new Set(ids).size, ids.length);
  for (const model of list)
    assert.ok(model.object === "model" && Number.isInteger(model.created) && typeof model.owned_by === "string");
  assert.is((await gateway.json("GET", "/v1/models/main/org/deep-model")).id, "main/org/deep-model");
  assert.is((await gateway.json("GET", "/v1/models/main%2Forg%2Fdeep-model")).id, "main/org/deep-model");
  const missing = await gateway.request("GET", "/v1/models/zz");
  assert.is(missing.status, 404);
  assert.is(((await missing.json()) as { error: { code: string } }).error.code, "model_not_found");
});

test("bad requests are told by field", async () => {
  const cases: [object, string | null][] = [
    [{ model: 3 }, "model"],
    [{ model: "echo", messages: [] }, "messages"],
    [{ model: "echo", messages: [...hi, { role: "robot", content: "x" }] }, "messages[1].role"],
    [{ model: "echo", messages: [{ role: "user" }] }, "messages[0].content"],
    [{ model: "echo", messages: [{ role: "user", content: [{ type: "text" }] }] }, "messages[0].content[0].text"],
    [{ model: "echo", temperature: 2.1 }, "temperature"],
    [{ model: "echo", temperature: "1" }, "temperature"],
    [{ model: "echo", max_tokens: 0 }, "max_tokens"],
    [{ model: "echo", stream: "yes" }, "stream"],
    [{ model: "echo", tools: [{ type: "function", function: {} }] }, "tools[0].function.name"],
    [{ model: "echo", tool_choice: "maybe" }, "tool_choice"],
    [[1], null],
  ];
  for (const [body, param] of cases) {
    const answer = await gateway.request(
      "POST",
      "/v1/chat/completions",
      Array.isArray(body) ? body : { messages: hi, ...body },
    );
    assert.is(answer.status, 400, JSON.stringify(body));
    const { error } = (await answer.json()) as {
      error: { code: string; param: string | null; type: string; message: string };
    };
    assert.equal([error.code, error.type, error.param], ["invalid_request_error", "invalid_request_error", param]);
  }
  assert.is(
    ((await (await gateway.request("POST", "/v1/chat/completions", "{nope")).json()) as { error: { code: string } })
      .error.code,
    "invalid_json",
  );
  assert.is((await ask({ model: "echo" }, { "content-type": "text/plain" })).status, 415);
});

test("null means unset, and every role and part is taken", async () => {
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
  const answer = await ask({ model: "main/gpt-x", messages, ...nulls });
  assert.is(answer.status, 200);
  assert.equal(up.seen[0]?.body.messages, messages);
});

test("credentials: 401 in OpenAI's form", async () => {
  for (const token of [null, "wrong"]) {
    const answer = await gateway.request("POST", "/v1/chat/completions", { model: "echo", messages: hi }, { token });
    assert.is(answer.status, 401);
    assert.ok(answer.headers.get("www-authenticate"));
    const { error } = (await answer.json()) as { error: { code: string; type: string } };
    assert.equal([error.code, error.type], ["invalid_api_key", "authentication_error"]);
  }
});

test("a stream passes byte for byte", async () => {
  const answer = await ask({ model: "fast", stream: true });
  assert.match(answer.headers.get("content-type")!, /^text\/event-stream/);
  assert.is(await answer.text(), hello.join(""));
});

test("an answer that deviates is mended", async () => {
  up.answer = (_, res) =>
    json(res, {
      choices: [
        {
          message: { content: null, tool_calls: [{ function: { name: "f", arguments: { a: 1 } } }] },
          finish_reason: "stop",
        },
      ],
    });
  const body = (await (await ask({ model: "fast" })).json()) as ReturnType<typeof JSON.parse>;
  assert.match(body.id, /^chatcmpl-/);
  assert.equal([body.object, body.model, body.choices[0].index], ["chat.completion", "gpt-x", 0]);
  const [choice] = body.choices;
  assert.equal(
    [
      choice.finish_reason,
      choice.message.role,
      choice.message.tool_calls[0].function.arguments,
      choice.message.tool_calls[0].type,
    ],
    ["tool_calls", "assistant", '{"a":1}', "function"],
  );
  assert.match(choice.message.tool_calls[0].id, /^call_/);
});

test("upstream errors have their status and code", async () => {
  const cases: [number, number, string][] = [
    [400, 400, "their_code"],
    [404, 404, "their_code"],
    [409, 409, "their_code"],
    [413, 413, "their_code"],
    [422, 422, "their_code"],
    [401, 502, "upstream_auth"],
    [402, 502, "upstream_auth"],
    [403, 502, "upstream_auth"],
    [408, 504, "upstream_timeout"],
    [429, 429, "their_code"],
    [500, 502, "upstream_error"],
    [502, 502, "upstream_error"],
    [503, 503, "upstream_error"],
    [504, 504, "upstream_timeout"],
    [529, 503, "upstream_error"],
  ];
  for (const streamed of [false, true]) {
    for (const [theirs, ours, code] of cases) {
      up.answer = (_, res) =>
        json(res, { error: { message: `m${theirs}`, type: "t", code: "their_code", param: "messages" } }, theirs);
      const answer = await ask({ model: "fast", stream: streamed });
      assert.is(answer.status, ours, `${theirs}`);
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      assert.is(error.code, code, `${theirs}`);
      assert.match(error.message, `m${theirs}`);
      if (ours === 429) assert.ok(Number(answer.headers.get("retry-after")) >= 1);
    }
  }
});

test("200 with an error body, an HTML page, nothing, broken JSON: 502", async () => {
  const bodies = [
    '{"error":{"message":"inside"}}',
    '{"object":"error","message":"inside"}',
    "<html><title>inside</title>",
    "",
    '{"id":"x"',
    '{"id":"inside"}',
  ];
  for (const streamed of [false, true]) {
    for (const body of bodies) {
      for (const type of ["application/json", "text/html", "text/event-stream"]) {
        up.answer = (_, res) => res.writeHead(200, { "content-type": type }).end(body);
        const answer = await ask({ model: "fast", stream: streamed });
        assert.is(answer.status, 502, `${type} ${body}`);
        assert.is(((await answer.json()) as { error: { code: string } }).error.code, "upstream_error");
      }
    }
  }
});

test("a JSON answer to a stream request becomes a stream, with its tool calls and usage", async () => {
  up.answer = (_, res) => json(res, completion("Hello there"));
  const text = await (await ask({ model: "fast", stream: true, stream_options: { include_usage: true } })).text();
  assert.is(contentOf(text), "Hello there");
  const events = eventsOf(text);
  assert.equal(events[0].choices[0].delta, { role: "assistant", content: "" });
  assert.is(events.at(-3).choices[0].finish_reason, "stop");
  assert.is(events.at(-2).usage.total_tokens, 5);
  assert.is(events.at(-1), "[DONE]");
  assert.not.match(await (await ask({ model: "fast", stream: true })).text(), "total_tokens");
});

test("a first event that is an error becomes an HTTP error, behind comments too", async () => {
  for (const before of ["", ": PROCESSING\n\n"]) {
    up.answer = (_, res) => stream(res, `${before}${data({ error: { message: "no" } })}`);
    const answer = await ask({ model: "fast", stream: true });
    assert.is(answer.status, 502);
    assert.is(((await answer.json()) as { error: { message: string } }).error.message, "no");
  }
});

test("a stream that fails on its way ends with one error event and [DONE]", async () => {
  const breaks: [string, (res: import("node:http").ServerResponse) => void][] = [
    ["an error event", (res) => res.end(data({ error: { message: "gone" } }))],
    ["a cut", (res) => res.destroy()],
    ["half an event", (res) => res.end('data: {"id":')],
  ];
  for (const [what, end] of breaks) {
    up.answer = (_, res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(hello[0]! + hello[1]!, () => setTimeout(() => end(res), 20));
    };
    const answer = await ask({ model: "fast", stream: true });
    assert.is(answer.status, 200);
    const events = eventsOf(await answer.text());
    assert.is(events.length, 4, what);
    assert.is(events[2].error.code, "upstream_error");
    assert.equal(Object.keys(events[2].error), ["message", "type", "param", "code"]);
    assert.is(events[3], "[DONE]");
  }
});

test("a cut behind the finish reason is a good end", async () => {
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello.slice(0, 4).join(""), () => setTimeout(() => res.destroy(), 20));
  };
  assert.is(await (await ask({ model: "fast", stream: true })).text(), hello.join(""));
});

test("gzip, in whole answers and in streams", async () => {
  up.answer = (seen, res) => {
    const [type, body] = seen.body.stream
      ? ["text/event-stream", hello.join("")]
      : ["application/json", JSON.stringify(completion("zipped"))];
    res.writeHead(200, { "content-type": type, "content-encoding": "gzip" }).end(gzipSync(body!));
  };
  assert.is(
    ((await (await ask({ model: "fast" })).json()) as ReturnType<typeof JSON.parse>).choices[0].message.content,
    "zipped",
  );
  assert.is(await (await ask({ model: "fast", stream: true })).text(), hello.join(""));
});

test("[DONE] ends the answer though the upstream keeps its connection open", async () => {
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello.join(""));
  };
  assert.is(await (await ask({ model: "fast", stream: true })).text(), hello.join(""));
});

test("a client that leaves cuts the upstream, streaming or not, before and after the first byte", async () => {
  const starts: Record<string, (res: import("node:http").ServerResponse) => void> = {
    silent: () => {},
    head: (res) => res.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(),
    begun: (res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(hello[0]! + hello[1]!);
    },
  };
  for (const [what, start] of Object.entries(starts)) {
    for (const streamed of what === "begun" ? [true] : [true, false]) {
      const leave = new AbortController();
      const arrived = new Promise<Seen>((resolve) => {
        up.answer = (seen, res) => {
          start(res);
          resolve(seen);
        };
      });
      const answer = gateway.request(
        "POST",
        "/v1/chat/completions",
        { model: "fast", messages: hi, stream: streamed },
        { signal: leave.signal },
      );
      const { cut } = await arrived;
      const begun = what === "begun" ? (await answer).body!.getReader() : undefined;
      await begun?.read();
      leave.abort();
      await (begun?.closed ?? answer).then(
        () => assert.unreachable(what),
        () => {},
      );
      await cut;
    }
  }
});

test("a slow first byte and a silent stream are time-outs", async () => {
  const slow = await startUpstream((_, res, count) => {
    if (count === 1) return;
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello[0]! + hello[1]!);
  });
  const other = await startGateway({
    config: {
      channels: { slow: { provider: "openai", baseUrl: slow.url, timeoutMs: 60, idleTimeoutMs: 60, maxRetries: 0 } },
    },
  });
  try {
    const first = await other.request("POST", "/v1/chat/completions", { model: "slow/x", messages: hi });
    assert.is(first.status, 504);
    assert.is(((await first.json()) as { error: { code: string } }).error.code, "upstream_timeout");
    const second = await other.request("POST", "/v1/chat/completions", { model: "slow/x", messages: hi, stream: true });
    const events = eventsOf(await second.text());
    assert.is(events.at(-2).error.code, "upstream_timeout");
    assert.is(events.at(-1), "[DONE]");
  } finally {
    await other.stop();
    await slow.close();
  }
});

test("the headers of a stream wait for the first byte and not longer", async () => {
  let go = () => {};
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello[0]!);
    go = () => res.end(hello.slice(1).join(""));
  };
  const answer = await ask({ model: "fast", stream: true });
  assert.is(answer.status, 200);
  const reader = answer.body!.getReader();
  const { value } = await reader.read();
  assert.is(Buffer.from(value!).toString(), hello[0]);
  go();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read())
    rest += Buffer.from(part.value).toString();
  assert.is(rest, hello.slice(1).join(""));
});

test("a large answer is passed on as it comes", async () => {
  const content = "z".repeat(8 * 1024 * 1024);
  const whole = JSON.stringify(completion(content));
  const half = whole.length / 2;
  let go = () => {};
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "application/json" });
    res.write(whole.slice(0, half));
    go = () => res.end(whole.slice(half));
  };
  const answer = await ask({ model: "fast" });
  const reader = answer.body!.getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += Buffer.from(part.value).toString("latin1");
    if (text.length < half / 2) continue;
    go();
    go = () => {};
  }
  assert.is(JSON.parse(text).choices[0].message.content, content);
});

test("common quirks in a stream over the wire: CRLF, one byte at a time", async () => {
  up.answer = async (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const byte of Buffer.from(
      [chunk({ role: "assistant", content: "a" }), DONE].join("").replaceAll("\n", "\r\n"),
    )) {
      await new Promise<void>((resolve) => res.write(Buffer.of(byte), () => setImmediate(resolve)));
    }
    res.end();
  };
  assert.is(
    await (await ask({ model: "fast", stream: true })).text(),
    chunk({ role: "assistant", content: "a" }) + chunk({}, "stop") + DONE,
  );
});

test("a changed configuration is applied while running and keeps what did not change", async () => {
  const file = (models: object) =>
    JSON.stringify({
      gateway: { port: 0, auth: { token: gateway.token } },
      channels: {
        main: {
          provider: "openai",
          baseUrl: `${up.url}/`,
          apiKey: "sk-main",
          headers: { "X-Extra": "1" },
          maxRetries: 0,
        },
      },
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
