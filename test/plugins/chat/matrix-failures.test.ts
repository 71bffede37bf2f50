/** Every provider × everything that can go wrong with a chat. */
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { dialects, type FakeProvider, type Problem } from "../../support/upstreams/index.ts";
import { client, failure, fakes, onScene, PROBLEMS, requestOf, streamed } from "./matrix-scene.ts";

const test = suite("matrix of failures");
onScene(test);

/** Clients receive the provider's own codes if it has any, and otherwise the gateway's. */
const ownCodes: Record<string, { request?: string; rateLimit: string }> = {
  anthropic: { rateLimit: "rate_limit_error" },
  bedrock: { request: "ValidationException", rateLimit: "ThrottlingException" },
  gemini: { request: "INVALID_ARGUMENT", rateLimit: "RESOURCE_EXHAUSTED" },
  mistral: { request: "1", rateLimit: "1" },
};

for (const dialect of dialects) {
  const name = (what: string) => `${dialect.name}: ${what}`;
  const fake = () => fakes.get(dialect) as FakeProvider;

  test(name("errors"), async () => {
    const { request = "invalid_request_error", rateLimit = "rate_limit_exceeded" } =
      ownCodes[dialect.name] ?? {};
    const expected: Partial<Record<Problem, [number, string]>> = {
      auth: [502, "upstream_auth"],
      request: [400, request],
      rate_limit: [429, rateLimit],
      overloaded: [503, "upstream_error"],
      server: [502, "upstream_error"],
    };
    for (const problem of PROBLEMS) {
      fake().next = { refuse: problem };
      const channel = `${dialect.name}-${problem}`;
      for (const stream of [false, true]) {
        const attempt = client.chat.completions.create({
          ...requestOf(dialect, {}, channel),
          stream,
        });
        const error = await failure(attempt as Promise<unknown>);
        const [status, code] = expected[problem]!;
        assert.is(error.status, status, `${problem} is ${error.status}`);
        assert.match(error.message, `why ${problem}`);
        assert.is(error.code, code);
        assert.not.match(error.message, "secret");
        if (problem === "rate_limit") assert.is(error.headers?.get("retry-after"), "30");
      }
    }
  });

  test(name("failures inside a stream"), async () => {
    for (const broken of ["error event", "cut"] as const) {
      fake().next = { broken, script: { text: ["Hello", " you"] } };
      const stream = await client.chat.completions.create({
        ...requestOf(dialect, {}, `${dialect.name}-broken`),
        stream: true,
      });
      let text = "";
      const error = await failure(
        (async () => {
          for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
        })(),
      );
      assert.is(text, "Hello you", broken);
      if (broken === "error event") assert.match(error.message, "it broke");
    }
    fake().next = { broken: "after finish", script: { text: ["Hello"] } };
    const response = await streamed(dialect, {}, `${dialect.name}-broken`);
    assert.equal([response.text, response.finish], ["Hello", "stop"]);
  });

  test(name("time-outs"), async () => {
    for (const silent of ["at once", "after headers"] as const) {
      fake().next = { silent };
      for (const stream of [false, true]) {
        const attempt = client.chat.completions.create({
          ...requestOf(dialect, {}, `${dialect.name}-slow`),
          stream,
        });
        const error = await failure(attempt as Promise<unknown>);
        assert.equal([error.status, error.code], [504, "upstream_timeout"]);
      }
    }
    fake().next = { endless: "Hello" };
    const stream = await client.chat.completions.create({
      ...requestOf(dialect, {}, `${dialect.name}-idle`),
      stream: true,
    });
    let text = "";
    await failure(
      (async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
      })(),
    );
    assert.is(text, "HelloHello");
  });

  test(name("a client that leaves takes the upstream along"), async () => {
    fake().next = { endless: "Hello" };
    const stream = await client.chat.completions.create({
      ...requestOf(dialect, {}),
      stream: true,
    });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await fake().aborted;

    fake().next = { silent: "after headers" };
    const before = fake().seen.length;
    const leaving = new AbortController();
    const attempt = client.chat.completions.create(requestOf(dialect, {}), {
      signal: leaving.signal,
    });
    const settled = attempt.then(
      () => "answered",
      () => "left",
    );
    while (fake().seen.length === before) await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
    assert.is(await settled, "left");
    await fake().aborted;
  });
}

test.run();
