/** Upstreams that imitate a format and get its types wrong: models, indexes, counts of tokens. */
import { type ChatProvider, type ChatRequest, readCompletion } from "portico/provider";
import * as assert from "uvu/assert";
import { anthropic } from "../../../plugins/provider-anthropic/wire.ts";
import { gemini } from "../../../plugins/provider-gemini/wire.ts";
import { ollama } from "../../../plugins/provider-ollama/wire.ts";
import { StreamRecoder } from "../../support/recoded.ts";
import { test } from "../../support/suite.ts";
import { asJson, decodeAll, makeTarget, readChunks, recode } from "../../support/target.ts";

type Wire = NonNullable<ChatProvider["wire"]>;
const target = makeTarget({ model: "own" });
const request: ChatRequest = { model: "x", messages: [{ role: "user", content: "Hi" }] };
const odd: unknown[] = ["x", "7", -1, 1.5, true, [], {}, ["x"], { a: 1 }];
const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0;

const answers: Record<string, [Wire, (odd: unknown) => object]> = {
  anthropic: [
    anthropic,
    (odd) => ({
      type: "message",
      model: odd,
      content: [{ type: "text", text: "Hi" }],
      usage: { input_tokens: odd, output_tokens: odd },
    }),
  ],
  gemini: [
    gemini,
    (odd) => ({
      modelVersion: odd,
      candidates: [{ index: odd, content: { parts: [{ text: "Hi" }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: odd, candidatesTokenCount: odd, totalTokenCount: odd },
    }),
  ],
  ollama: [
    ollama,
    (odd) => ({
      model: odd,
      message: { content: "Hi" },
      done: true,
      prompt_eval_count: odd,
      eval_count: odd,
    }),
  ],
};

for (const [name, [wire, buildResponse]] of Object.entries(answers)) {
  test(`${name}: a value of the wrong type counts as absent`, async () => {
    const sent = await wire.encode(request, target);
    for (const value of odd) {
      const { model, choices, usage } = asJson(
        wire.decode!(Buffer.from(JSON.stringify(buildResponse(value))), sent, target),
      ) as any;
      const label = JSON.stringify(value);
      assert.is(model, typeof value === "string" ? value : "own", label);
      assert.equal([choices[0].index, choices[0].message.content], [0, "Hi"], label);
      const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
      assert.ok([prompt, completion, total].every(isCount), JSON.stringify(usage));
      if (value === "7") assert.equal([prompt, completion], [7, 7]);
    }
  });
}

test("OpenAI's format: calls that are not a list, content that is not text and usage that is not an object are dropped", () => {
  const defaults = { id: "chatcmpl-own", created: 1, model: "own" };
  for (const value of odd.filter((value) => !Array.isArray(value))) {
    const message = {
      role: "assistant",
      content: typeof value === "string" ? 0 : value,
      tool_calls: value,
    };
    const usage = typeof value === "object" ? "x" : value;
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage });
    const { completion } = readCompletion(Buffer.from(body), defaults);
    assert.equal(
      asJson(completion).choices[0]?.message,
      { role: "assistant", content: null },
      body,
    );
    assert.is(completion.usage, undefined, body);
    const stream = new StreamRecoder({ ...defaults, includeUsage: false });
    const event = {
      choices: [{ index: 0, delta: { content: message.content, tool_calls: value } }],
    };
    const [first] = readChunks(
      decodeAll(stream, [Buffer.from(`data: ${JSON.stringify(event)}\n\n`)]),
    );
    assert.equal(first?.choices[0]?.delta, { role: "assistant", content: null }, body);
  }
});

test("an invalid index does not break the events of a stream", async () => {
  const sent = await gemini.encode({ ...request, stream: true }, target);
  for (const value of odd) {
    const event = {
      modelVersion: value,
      candidates: [{ index: value, content: { parts: [{ text: "Hi" }] } }],
    };
    const chunks = readChunks(
      decodeAll(recode(gemini, sent, target), [Buffer.from(`data: ${JSON.stringify(event)}\n\n`)]),
    );
    assert.equal(
      chunks.map(({ model, choices }) => [model, choices[0]?.index]),
      chunks.map(() => [typeof value === "string" ? value : "own", 0]),
      JSON.stringify(value),
    );
  }
});

test.run();
