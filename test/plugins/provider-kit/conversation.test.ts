import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { alternate, readConversation } from "../../../plugins/provider-kit/request/conversation.ts";
import type { MessageLike } from "../../../plugins/provider-kit/request/fields.ts";

const call = (id: string, name = "f") => ({
  id,
  type: "function",
  function: { name, arguments: "{}" },
});
const user = { role: "user", content: "Hi" };

function refusal(...messages: MessageLike[]): string | undefined {
  try {
    readConversation(messages);
  } catch (error) {
    assert.is((error as { status: number }).status, 400);
    return (error as { param?: string }).param;
  }
  throw new Error("was not refused");
}

test("calls and results belong together, in any order", () => {
  const { turns } = readConversation([
    user,
    { role: "assistant", tool_calls: [call("a", "x"), call("b", "y")] },
    { role: "tool", tool_call_id: "b", content: "2" },
    { role: "tool", tool_call_id: "a", content: "1" },
  ]);
  const last = turns[2];
  assert.is(turns.length, 3);
  assert.equal(
    last?.role === "user" && last.results.map((result) => [result.callId, result.name]),
    [
      ["b", "y"],
      ["a", "x"],
    ],
  );
});

test("the same ids may come again in a later round", () => {
  const round = [
    { role: "assistant", tool_calls: [call("a")] },
    { role: "tool", tool_call_id: "a", content: "1" },
  ];
  assert.is(readConversation([user, ...round, ...round]).turns.length, 5);
});

test("calls and results that do not match are refused with their position", () => {
  const assistantTurn = { role: "assistant", tool_calls: [call("a"), call("b")] };
  const a = { role: "tool", tool_call_id: "a", content: "" };
  assert.is(refusal(user, a), "messages[1].tool_call_id");
  assert.is(refusal(user, assistantTurn, a, a), "messages[3].tool_call_id");
  assert.is(refusal(user, assistantTurn, a, user), "messages[1].tool_calls[1]");
  assert.is(refusal(user, assistantTurn), "messages[1].tool_calls[0]");
  assert.is(
    refusal(user, { role: "assistant", tool_calls: [call("a"), call("a")] }),
    "messages[1].tool_calls[1].id",
  );
});

test("malformed messages are refused with their position", () => {
  const withArguments = (args: unknown) => ({
    role: "assistant",
    tool_calls: [{ id: "a", function: { name: "f", arguments: args } }],
  });
  assert.is(refusal({ role: "judge", content: "x" }), "messages[0].role");
  assert.is(refusal({ role: "user", content: 7 }), "messages[0].content");
  assert.is(refusal({ role: "user", content: [{ type: "text" }] }), "messages[0].content[0].text");
  assert.is(refusal({ role: "user", content: [{ type: "video" }] }), "messages[0].content[0].type");
  assert.is(refusal(withArguments("{")), "messages[0].tool_calls[0].function.arguments");
  assert.is(refusal(withArguments("[1]")), "messages[0].tool_calls[0].function.arguments");
  assert.is(
    refusal({ role: "system", content: [{ type: "image_url", image_url: { url: "data:," } }] }),
    "messages[0].content[0].image_url",
  );
});

test("names and details are reported as dropped", () => {
  const image = { type: "image_url", image_url: { url: "data:,x", detail: "high" } };
  const { dropped } = readConversation([{ role: "user", name: "Ann", content: [image] }]);
  assert.equal(dropped, ["messages[0].name", "messages[0].content[0].image_url.detail"]);
});

test("the old function messages are understood", () => {
  const { turns } = readConversation([
    { role: "assistant", content: null, function_call: { name: "f", arguments: '{"a":1}' } },
    { role: "function", name: "f", content: "1" },
  ]);
  const [callTurn, resultTurn] = turns;
  assert.equal(callTurn?.role === "assistant" && callTurn.calls[0]?.args, { a: 1 });
  assert.is(resultTurn?.role === "user" && resultTurn.results[0]?.name, "f");
});

test("alternation: neighbours are merged, empty turns go, system texts stand apart", () => {
  const { turns } = readConversation([
    { role: "system", content: "one" },
    user,
    { role: "user", content: "there" },
    { role: "assistant", content: "" },
    { role: "developer", content: "two" },
    { role: "user", content: "again" },
    { role: "assistant", content: "a" },
    { role: "assistant", content: "b" },
  ]);
  const { system, turns: merged } = alternate(turns);
  assert.equal(
    system.map((part) => part.text),
    ["one", "two"],
  );
  assert.equal(
    merged.map((turn) => [
      turn.role,
      ...turn.parts.map((part) => part.kind === "text" && part.text),
    ]),
    [
      ["user", "Hi", "there", "again"],
      ["assistant", "a", "b"],
    ],
  );
});

test("blank texts form no turn", () => {
  const blank = alternate(readConversation([user, { role: "assistant", content: " \n" }]).turns);
  assert.is(blank.turns.length, 1);
});

test.run();
