import * as assert from "uvu/assert";
import { test } from "../../../support/suite.ts";
import { readCompletion } from "../../../../plugins/chat/openai/completion.ts";
import { ResponseShapes } from "../../../../plugins/chat/openai/response-shape.ts";

const defaults = { id: "chatcmpl-own", created: 1, model: "own" };

function response(over: object = {}, content: unknown = "Hello."): object {
  return {
    id: "chatcmpl-123",
    object: "chat.completion",
    created: 1790000000,
    model: "gpt-x-2026",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content, refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: {
      prompt_tokens: 12,
      completion_tokens: 3,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
    },
    service_tier: "default",
    system_fingerprint: "fp_1",
    ...over,
  };
}

const written = (value: object, space?: number) =>
  Buffer.from(JSON.stringify(value, null, space)).toString("latin1");

/** Has learned the common response. */
function learned(space?: number): ResponseShapes {
  const shapes = new ResponseShapes();
  shapes.learn(written(response(), space));
  return shapes;
}

test("another text, id, model, time and count are the same shape, whose usage is read", () => {
  for (const space of [undefined, 2]) {
    const shapes = learned(space);
    const usage = { prompt_tokens: 0, completion_tokens: 70_000, total_tokens: 70_000 };
    const details = { prompt_tokens_details: { cached_tokens: 1, audio_tokens: 2 } };
    const other = response(
      {
        id: "chatcmpl-zzz",
        created: 5,
        model: "m",
        system_fingerprint: "",
        usage: { ...usage, ...details },
      },
      'A "quoted" text,\n\\ tabs\t, ümläuts, 🎈 and \u0001.',
    );
    assert.equal(shapes.match(written(other, space)), { usage: { ...usage, ...details } });
  }
});

test("what must be mended, refused or read is another shape", () => {
  const shapes = learned();
  const choice = (more: object) => ({
    choices: [{ ...(response() as { choices: object[] }).choices[0], ...more }],
  });
  const others = [
    response({ id: "other-1" }),
    response({ id: "chatcmpl-" }),
    response({ created: 1.5 }),
    response({ created: "5" }),
    response({ model: "" }),
    response({ error: { message: "no" } }),
    response({ object: "error" }),
    response({}, null),
    response({}, [{ type: "text", text: "x" }]),
    response(choice({ finish_reason: "content_filter" })),
    response(choice({ finish_reason: "end_turn" })),
    response(choice({ message: { role: "assistant", content: null, tool_calls: [] } })),
    response({ usage: { prompt_tokens: 1, completion_tokens: 1 } }),
    response({ usage: null }),
  ];
  for (const other of others)
    assert.is(shapes.match(written(other)), undefined, JSON.stringify(other));
});

test("what is no JSON is no shape", () => {
  const shapes = learned();
  const good = written(response());
  assert.ok(shapes.match(good));
  const broken = [
    good.slice(0, -1),
    `${good}x`,
    `${good}${good}`,
    good.replace("Hello.", "Hel\nlo."),
    good.replace("Hello.", "Hel\\lo."),
    good.replace("Hello.", "Hel\\u12"),
    good.replace("Hello.", "Hello.\\"),
    good.replace("1790000000", "0179"),
    good.replace(":12", ":012"),
    good.replace(":12", ":-"),
  ];
  for (const text of broken) assert.is(shapes.match(text), undefined, text);
});

test("a usage that comes twice, and what no expression holds, is not learned", () => {
  const shapes = new ResponseShapes();
  const twice = written(response()).replace(/}$/, ',"usage":{"prompt_tokens":9}}');
  const large = written(response({ extra: "x".repeat(10_000) }));
  for (const text of [twice, large]) {
    shapes.learn(text);
    assert.is(shapes.match(text), undefined);
  }
});

test("whatever is changed in a response, it fits the shape only where a parser would leave it alone", () => {
  const shapes = learned();
  const good = written(response());
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  const pieces = [
    '"',
    "\\",
    "{",
    "}",
    ",",
    ":",
    "0",
    "7",
    "a",
    "\n",
    "\u0000",
    "null",
    '"error":1,',
    "\\u0041",
    "é",
  ];
  let fitting = 0;
  for (let i = 0; i < 20_000; i++) {
    let text = good;
    for (let changes = 1 + random(2); changes > 0; changes--) {
      const at = random(text.length);
      text = text.slice(0, at) + pieces[random(pieces.length)]! + text.slice(at + random(3));
    }
    const found = shapes.match(text);
    if (found === undefined) continue;
    fitting++;
    const { completion, changed } = readCompletion(Buffer.from(text, "latin1"), defaults);
    assert.is(changed, false, text);
    assert.equal(found.usage, completion.usage, text);
  }
  assert.ok(fitting > 100);
});

test("a response of millions of escapes is left to the parser", () => {
  const shapes = learned();
  for (const count of [400_000, 4_000_000]) {
    const text = written(response({}, "\n".repeat(count)));
    assert.is(shapes.match(text) !== undefined, count === 400_000);
    assert.is(learned().match(text.replace('"stop"', '"other"')), undefined);
  }
});

test.run();
