/** Handling of upstream responses, whole and streamed, valid and invalid. */
import { gzipSync } from "node:zlib";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
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
} from "../../support/upstreams/upstream.ts";
import { ask, gateway, hi, onScene, up } from "./chat-scene.ts";

const test = suite("chat answers");
onScene(test);

test("a stream passes byte for byte", async () => {
  const response = await ask({ model: "fast", stream: true });
  assert.match(response.headers.get("content-type")!, /^text\/event-stream/);
  assert.is(await response.text(), hello.join(""));
});

test("a response that deviates from the format is repaired", async () => {
  up.answer = (_, res) =>
    json(res, {
      choices: [
        {
          message: {
            content: null,
            tool_calls: [{ function: { name: "f", arguments: { a: 1 } } }],
          },
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

test("malformed choices, calls and counts are repaired in every client's format, whole and streamed", async () => {
  const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
  up.answer = (request, res) =>
    json(res, {
      model: request.body.model,
      choices: [null, { message: { tool_calls: [null, call, 3] }, finish_reason: "stop" }],
      usage: { prompt_tokens: "3" },
    });
  const body = (await (await ask({ model: "fast" })).json()) as ReturnType<typeof JSON.parse>;
  assert.is(body.choices.length, 1);
  assert.equal(body.choices[0].message, { role: "assistant", content: null, tool_calls: [call] });
  assert.equal(body.usage, { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 });
  for (const stream of [false, true]) {
    for (const [route, more] of Object.entries({
      responses: { input: "hi" },
      messages: { messages: [{ role: "user", content: "hi" }], max_tokens: 5 },
    })) {
      const response = await gateway.request("POST", `/v1/${route}`, {
        model: "fast",
        stream,
        ...more,
      });
      assert.is(response.status, 200, route);
      assert.match(await response.text(), /"c1"/);
    }
  }
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
        json(
          res,
          { error: { message: `m${theirs}`, type: "t", code: "their_code", param: "messages" } },
          theirs,
        );
      const response = await ask({ model: "fast", stream: streamed });
      assert.is(response.status, ours, `${theirs}`);
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      assert.is(error.code, code, `${theirs}`);
      assert.match(error.message, `m${theirs}`);
      if (ours === 429) assert.ok(Number(response.headers.get("retry-after")) >= 1);
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
    '{"choices":[]}',
    '{"choices":[null]}',
    '{"choices":[{"message":{"content":"x"},"finish_reason":"stop","error":{"message":"inside"}}]}',
    '{"choices":[{"message":{"content":"x"},"finish_reason":"error"}]}',
  ];
  for (const streamed of [false, true]) {
    for (const body of bodies) {
      for (const type of ["application/json", "text/html", "text/event-stream"]) {
        up.answer = (_, res) => res.writeHead(200, { "content-type": type }).end(body);
        const response = await ask({ model: "fast", stream: streamed });
        assert.is(response.status, 502, `${type} ${body}`);
        assert.is(
          ((await response.json()) as { error: { code: string } }).error.code,
          "upstream_error",
        );
      }
    }
  }
});

test("a byte order mark before a response or an error is removed", async () => {
  const upstreamBody = {
    choices: [{ index: 0, message: { role: "assistant", content: "Hé" }, finish_reason: "stop" }],
  };
  const choices: [number, unknown, RegExp][] = [
    [200, upstreamBody, /Hé/],
    [400, { error: { message: "inside" } }, /"message":"inside"/],
  ];
  for (const stream of [false, true]) {
    for (const [status, body, expected] of choices) {
      up.answer = (_, res) =>
        res
          .writeHead(status, { "content-type": "application/json" })
          .end(`\uFEFF${JSON.stringify(body)}`);
      const response = await ask({ model: "fast", stream });
      assert.is(response.status, status);
      assert.match(await response.text(), expected);
    }
  }
});

test("a JSON response to a stream request becomes a stream, with its tool calls and usage", async () => {
  up.answer = (_, res) => json(res, completion("Hello there"));
  const text = await (
    await ask({ model: "fast", stream: true, stream_options: { include_usage: true } })
  ).text();
  assert.is(contentOf(text), "Hello there");
  const events = eventsOf(text);
  assert.equal(events[0].choices[0].delta, { role: "assistant", content: "" });
  assert.is(events.at(-3).choices[0].finish_reason, "stop");
  assert.is(events.at(-2).usage.total_tokens, 5);
  assert.is(events.at(-1), "[DONE]");
  assert.not.match(await (await ask({ model: "fast", stream: true })).text(), "total_tokens");
});

test("a JSON response that becomes a stream keeps its tokens, both forms of calls and their additional members", async () => {
  const logprobs = { content: [{ token: "é", logprob: -0.1, bytes: null, top_logprobs: [] }] };
  const extra_content = { google: { thought_signature: "c2ln" } };
  const upstreamMessage = {
    annotations: [
      { type: "url_citation", url_citation: { url: "https://a", start_index: 0, end_index: 1 } },
    ],
    images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
    extra_content,
  };
  const fn = { name: "f", arguments: "{}" };
  const tool_calls = [{ id: "call_1", type: "function", function: fn, extra_content }];
  const message = { role: "assistant", content: "é", ...upstreamMessage, tool_calls };
  up.answer = (_, res) =>
    json(
      res,
      completion("", { choices: [{ index: 0, message, logprobs, finish_reason: "tool_calls" }] }),
    );
  const events = eventsOf(await (await ask({ model: "fast", stream: true })).text());
  const choices = events.filter((event) => event !== "[DONE]").map((event) => event.choices[0]);
  const delta = Object.assign({}, ...choices.map(({ delta }) => delta));
  assert.equal(delta, {
    role: "assistant",
    content: "é",
    ...upstreamMessage,
    tool_calls: [{ index: 0, ...tool_calls[0] }],
  });
  assert.equal(choices.map((choice) => choice.logprobs).filter(Boolean), [logprobs]);
});

test("a first event that is an error becomes an HTTP error, behind comments too", async () => {
  for (const before of ["", ": PROCESSING\n\n"]) {
    up.answer = (_, res) => stream(res, `${before}${data({ error: { message: "no" } })}`);
    const response = await ask({ model: "fast", stream: true });
    assert.is(response.status, 502);
    assert.is(((await response.json()) as { error: { message: string } }).error.message, "no");
  }
});

test("a stream that fails midway ends with one error event and [DONE]", async () => {
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
    const response = await ask({ model: "fast", stream: true });
    assert.is(response.status, 200);
    const events = eventsOf(await response.text());
    assert.is(events.length, 4, what);
    assert.is(events[2].error.code, "upstream_error");
    assert.equal(Object.keys(events[2].error), ["message", "type", "param", "code"]);
    assert.is(events[3], "[DONE]");
  }
});

test("a connection that ends after the finish reason is a regular end", async () => {
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello.slice(0, 4).join(""), () => setTimeout(() => res.destroy(), 20));
  };
  assert.is(await (await ask({ model: "fast", stream: true })).text(), hello.join(""));
});

test("gzip is decoded in whole responses and in streams", async () => {
  up.answer = (request, res) => {
    const [type, body] = request.body.stream
      ? ["text/event-stream", hello.join("")]
      : ["application/json", JSON.stringify(completion("zipped"))];
    res.writeHead(200, { "content-type": type, "content-encoding": "gzip" }).end(gzipSync(body!));
  };
  assert.is(
    ((await (await ask({ model: "fast" })).json()) as ReturnType<typeof JSON.parse>).choices[0]
      .message.content,
    "zipped",
  );
  assert.is(await (await ask({ model: "fast", stream: true })).text(), hello.join(""));
});

test("[DONE] ends the response although the upstream keeps its connection open", async () => {
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello.join(""));
  };
  assert.is(await (await ask({ model: "fast", stream: true })).text(), hello.join(""));
});

test("a client that disconnects aborts the upstream request, streaming or not, before and after the first byte", async () => {
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
        up.answer = (request, res) => {
          start(res);
          resolve(request);
        };
      });
      const response = gateway.request(
        "POST",
        "/v1/chat/completions",
        { model: "fast", messages: hi, stream: streamed },
        { signal: leave.signal },
      );
      const { cut } = await arrived;
      const begun = what === "begun" ? (await response).body!.getReader() : undefined;
      await begun?.read();
      leave.abort();
      await (begun?.closed ?? response).then(
        () => assert.unreachable(what),
        () => {},
      );
      await cut;
    }
  }
});

test("a slow first byte and a silent stream are time-outs", async () => {
  const slow = await startUpstream(({ body }, res) => {
    if (!body.stream) return;
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello[0]! + hello[1]!);
  });
  const other = await startGateway({
    config: {
      channels: {
        slow: { provider: "openai", baseUrl: slow.url, timeoutMs: 60, maxRetries: 0 },
        silent: { provider: "openai", baseUrl: slow.url, idleTimeoutMs: 60, maxRetries: 0 },
      },
    },
  });
  try {
    const first = await other.request("POST", "/v1/chat/completions", {
      model: "slow/x",
      messages: hi,
    });
    assert.is(first.status, 504);
    assert.is(((await first.json()) as { error: { code: string } }).error.code, "upstream_timeout");
    const second = await other.request("POST", "/v1/chat/completions", {
      model: "silent/x",
      messages: hi,
      stream: true,
    });
    const events = eventsOf(await second.text());
    assert.is(events.at(-2).error.code, "upstream_timeout");
    assert.is(events.at(-1), "[DONE]");
  } finally {
    await other.stop();
    await slow.close();
  }
});

test("the headers of a stream are sent with the first byte of the upstream", async () => {
  let go = () => {};
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello[0]!);
    go = () => res.end(hello.slice(1).join(""));
  };
  const response = await ask({ model: "fast", stream: true });
  assert.is(response.status, 200);
  const reader = response.body!.getReader();
  let first = "";
  while (first.length < hello[0]!.length)
    first += Buffer.from((await reader.read()).value!).toString();
  assert.is(first, hello[0]);
  go();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read())
    rest += Buffer.from(part.value).toString();
  assert.is(rest, hello.slice(1).join(""));
});

test("a large response is passed on while it arrives", async () => {
  const content = "z".repeat(8 * 1024 * 1024);
  const whole = JSON.stringify(completion(content));
  const half = whole.length / 2;
  let go = () => {};
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "application/json" });
    res.write(whole.slice(0, half));
    go = () => res.end(whole.slice(half));
  };
  const response = await ask({ model: "fast" });
  const reader = response.body!.getReader();
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

test.run();
