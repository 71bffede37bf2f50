import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import { contentOf, eventsOf } from "../../support/upstreams/upstream.ts";

const test = suite("echo");
let gateway: InProcessGateway;
test.before(async () => {
  gateway = await startGateway({
    config: { channels: { slow: { provider: "echo", delayMs: 5 } } },
  });
});
test.after(() => gateway?.stop());

const user = (content: unknown) => [{ role: "user", content }];
const ask = (body: object) =>
  gateway.json("POST", "/v1/chat/completions", { model: "echo", ...body });
const tool = (name: string, parameters?: object) => ({
  type: "function",
  function: { name, ...(parameters && { parameters }) },
});
const callOf = (response: ReturnType<typeof JSON.parse>) =>
  response.choices[0].message.tool_calls?.[0]?.function;

test("a channel of echo's lists its model, which is then what the agent asks", async () => {
  const ids = (await gateway.json("GET", "/v1/models")).data.map(({ id }: { id: string }) => id);
  assert.equal(
    ids.filter((id: string) => id.includes("echo")),
    ["slow/echo", "echo"],
  );
  const turn = await gateway.json("POST", "/agent", { message: "Hello", wait: true });
  assert.is(turn.result, "Hello");
});

test("replies with exactly the last user message", async () => {
  for (const text of ["Hello", "  two  spaces\n\nand lines ", "é😀", ""]) {
    const messages = [...user("before"), { role: "assistant", content: "a" }, ...user(text)];
    assert.is((await ask({ messages })).choices[0].message.content, text);
    const streamed = await (
      await gateway.request("POST", "/v1/chat/completions", {
        model: "echo",
        messages,
        stream: true,
      })
    ).text();
    assert.is(contentOf(streamed), text);
    const finish = eventsOf(streamed).filter((event) => event.choices?.[0]?.finish_reason);
    assert.is(finish.length, 1);
  }
  assert.is(
    (
      await ask({
        messages: user([
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ]),
      })
    ).choices[0].message.content,
    "a\nb",
  );
});

test("streams word by word, role first", async () => {
  const text = await (
    await gateway.request("POST", "/v1/chat/completions", {
      model: "echo",
      stream: true,
      messages: user("one two three"),
    })
  ).text();
  const deltas = eventsOf(text)
    .slice(0, -1)
    .map((event) => event.choices[0].delta);
  assert.equal(deltas, [
    { role: "assistant", content: "" },
    { content: "one" },
    { content: " two" },
    { content: " three" },
    {},
  ]);
});

test("calls a tool that the message names, and no other", async () => {
  const tools = [tool("get_weather"), tool("weather")];
  assert.is(callOf(await ask({ messages: user("use weather!"), tools })).name, "weather");
  assert.is(
    callOf(await ask({ messages: user("GET_WEATHER and weather"), tools })).name,
    "get_weather",
  );
  assert.is(callOf(await ask({ messages: user("weatherman"), tools })), undefined);
  assert.is((await ask({ messages: user("weatherman"), tools })).choices[0].finish_reason, "stop");
});

test("obeys tool_choice", async () => {
  const tools = [tool("a_tool"), tool("b_tool")];
  const messages = user("hello");
  assert.is(callOf(await ask({ messages, tools, tool_choice: "required" })).name, "a_tool");
  assert.is(
    callOf(
      await ask({
        messages,
        tools,
        tool_choice: { type: "function", function: { name: "b_tool" } },
      }),
    ).name,
    "b_tool",
  );
  assert.is(callOf(await ask({ messages: user("a_tool"), tools, tool_choice: "none" })), undefined);
  assert.is(
    callOf(
      await ask({
        messages: user("a_tool"),
        tools,
        tool_choice: {
          type: "allowed_tools",
          allowed_tools: { mode: "required", tools: [tool("b_tool")] },
        },
      }),
    ).name,
    "b_tool",
  );
});

test("replies with a tool's result after it", async () => {
  const messages = [
    ...user("a_tool"),
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: { name: "a_tool", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c", content: "42" },
  ];
  const response = await ask({ messages, tools: [tool("a_tool")] });
  assert.equal(
    [response.choices[0].message.content, response.choices[0].finish_reason],
    ["42", "stop"],
  );
});

test("replies to json_schema with the smallest valid object, and to json_object with {}", async () => {
  const schema = {
    type: "object",
    properties: { a: { type: "string" }, b: { enum: ["x", "y"] } },
    required: ["b"],
  };
  assert.is(
    (
      await ask({
        messages: user("hi"),
        response_format: { type: "json_schema", json_schema: { name: "n", schema } },
      })
    ).choices[0].message.content,
    '{"b":"x"}',
  );
  assert.is(
    (await ask({ messages: user("hi"), response_format: { type: "json_object" } })).choices[0]
      .message.content,
    "{}",
  );
});

test("a delayed echo stops when its client leaves", async () => {
  const leave = new AbortController();
  const response = await gateway.request(
    "POST",
    "/v1/chat/completions",
    { model: "slow/x", stream: true, messages: user("word ".repeat(2000)) },
    { signal: leave.signal },
  );
  await response.body!.getReader().read();
  leave.abort();
  await until(
    "the channel to be free",
    async () =>
      (await gateway.json("GET", "/channels")).channels.find(
        (channel: { name: string }) => channel.name === "slow",
      ).inFlight === 0,
  );
});

test("a channel of echo's is tested like any other", async () => {
  const tested = await gateway.json("POST", "/channels/slow/test", {});
  assert.equal([tested.ok, tested.error, tested.model], [true, undefined, "echo"]);
});

test.run();
