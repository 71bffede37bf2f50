import type { ChatRequest } from "portico/provider";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { rawBody } from "../../../../plugins/models/openai/members.ts";
import { sendableBytes } from "../../../../plugins/models/openai/splice.ts";

/** Filled up, the body is too long to be held as a text. */
const withModel = (raw: string, model: string, more = "") => {
  const bytes = sendableBytes(
    rawBody(Buffer.from(raw + more)),
    JSON.parse(raw) as ChatRequest,
    model,
  );
  return (typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes).toString().trimEnd();
};

test("only the model's name changes, wherever and however it is written", () => {
  const cases: [string, string][] = [
    ['{"model":"a/b","messages":[] , "x":1.0}', '{"model":"new","messages":[] , "x":1.0}'],
    [
      '{"messages":[{"content":"é\\u0041"}], "model" :\n"a/b"}',
      '{"messages":[{"content":"é\\u0041"}], "model" :\n"new"}',
    ],
    ['{"model":"a/é"}', '{"model":"new"}'],
    [
      '{"model":"a/b","messages":[{"content":"é 🎈"}]}',
      '{"model":"new","messages":[{"content":"é 🎈"}]}',
    ],
    ['{"model":"a/b","metadata":{"model":"a/b"}}', '{"model":"new","metadata":{"model":"a/b"}}'],
    [
      '{"metadata":{"model":"a/b"},"x":1.0,"model":"a/b"}',
      '{"metadata":{"model":"a/b"},"x":1.0,"model":"new"}',
    ],
  ];
  for (const [raw, expected] of cases) {
    assert.is(withModel(raw, "new"), expected);
    assert.is(withModel(raw, "new", " ".repeat(20_000)), expected);
  }
  assert.is(withModel('{"model":"a/b"}', 'q"\\é'), '{"model":"q\\"\\\\é"}');
  assert.is(withModel('{"model":"same","x":1.0}', "same"), '{"model":"same","x":1.0}');
});

test("the whole body is serialized again if the place of the name is uncertain", () => {
  assert.equal(JSON.parse(withModel('{"metadata":{"model":"a"},"mod\\u0065l":"a"}', "new")), {
    metadata: { model: "a" },
    model: "new",
  });
  assert.equal(JSON.parse(withModel('{"model":"\\u0061","x":1}', "new")), { model: "new", x: 1 });
  assert.equal(JSON.parse(withModel('{"mod\\u0065l":"a"}', "new")), { model: "new" });
});

test.run();
