import { test } from "uvu";
import * as assert from "uvu/assert";
import { isPlainCompletion, readCompletion } from "../../../plugins/chat/openai-answer.ts";
import { completion } from "./upstream-server.ts";

const plain = (value: object) => isPlainCompletion(Buffer.from(JSON.stringify(value)).toString("latin1"));
const answer = (message: object, more: object = {}, choice: object = {}) => ({
  ...completion(""),
  ...more,
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop", ...choice }],
});

test("a usual answer is plain, whatever it says", () => {
  for (const content of ["", "word", 'a "quoted" \\" thing \\', '"error" and "tool_calls":[1]', "é😀\n"])
    assert.ok(plain(answer({ content })), content);
});

test("whatever might need mending is not", () => {
  const cases: object[] = [
    answer({ content: null, tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }] }),
    answer({ content: "x", tool_calls: [{ function: { name: "f", arguments: {} } }] }),
    answer({ content: "x", reasoning: "hm" }),
    answer({ content: [{ type: "text", text: "x" }] }),
    answer({ content: "x" }, {}, { finish_reason: "eos" }),
    answer({ content: "x" }, {}, { index: undefined }),
    answer({ content: "x" }, { object: undefined }),
    answer({ content: "x" }, { usage: undefined }),
    answer({ content: "x" }, { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
    answer({ content: "x" }, { error: { message: "boom" } }),
    answer({ content: "x" }, { id: undefined }),
    { error: { message: '"content":"' } },
    { choices: [] },
  ];
  for (const value of cases) assert.not.ok(plain(value), JSON.stringify(value));
  assert.not.ok(isPlainCompletion(JSON.stringify(completion("x")).slice(0, -5)));
});

test("what is plain is what the full reading leaves alone", () => {
  const value = answer({ content: "x" });
  assert.ok(plain(value));
  assert.is(readCompletion(Buffer.from(JSON.stringify(value)), { id: "i", created: 1, model: "m" }).changed, false);
});

test.run();
