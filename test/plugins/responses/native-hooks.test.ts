/** Hooks and masks over channels that speak the Responses format. They leave the events that they do not change byte for byte. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { json, startUpstream, stream, type Upstream } from "../../support/upstreams/upstream.ts";

const test = suite("responses native hooks");
let up: Upstream;
let gateway: InProcessGateway;

/** `piece` and `hold` judge streams as they flow, `whole` once all has come. */
const plugin = `
import { definePlugin } from "portico";
let mode = "";
let held = "";
export default definePlugin({
  name: "redact",
  setup(ctx) {
    let undos = [];
    const redact = (text) => text.replaceAll("bad", "***");
    ctx.route("POST", "/t/mode", { access: "gateway" }, async (call) => {
      for (const undo of undos.splice(0)) undo();
      ({ mode } = await call.json());
      if (mode === "whole")
        undos.push(ctx.on("message:sending", ({ context }) => {
          context.content = redact(context.content);
        }));
      else
        undos.push(ctx.on("message:streaming", ({ context }) => {
          if (mode === "piece") {
            context.text = redact(context.text);
            return;
          }
          held += context.text;
          context.text = context.final ? redact(held) : "";
          if (context.final) held = "";
        }));
      return {};
    });
  },
});
`;

const SECRET = "secret-key-of-the-channel";

test.before(async () => {
  up = await startUpstream(() => {});
  gateway = await startGateway({
    config: {
      channels: {
        up: {
          ...{ provider: "openai", baseUrl: up.url, responses: true },
          ...{ apiKey: SECRET, maxRetries: 0 },
        },
      },
    },
    files: { "plugins/redact/plugin.ts": plugin },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const setMode = (mode: string) => gateway.request("POST", "/t/mode", { mode });

const textPart = (text: string) => ({
  ...{ type: "output_text", text, logprobs: [], made_up: { a: 1 } },
  annotations: [{ type: "url_citation", url: "https://e.test", start_index: 0, end_index: 4 }],
});
const search = {
  ...{ id: "ws_1", type: "web_search_call", status: "completed" },
  action: { type: "search", query: "weather" },
};
const code = {
  ...{ id: "ci_1", type: "code_interpreter_call", status: "completed", container_id: "c1" },
  ...{ code: "print(1)", outputs: [{ type: "logs", logs: "1" }] },
};
const unknownItem = { id: "tp_1", type: "telepathy_call", thought: { depth: 3 } };
const message = (text: string, id = "msg_1") => ({
  ...{ id, type: "message", status: "completed", role: "assistant" },
  content: [textPart(text)],
});

function responseOf(output: object[], status = "completed"): object {
  return {
    ...{ id: "resp_up", object: "response", created_at: 1, status, model: "gpt-real" },
    ...{ output, error: null, unknown_member: { big: 1 }, tools: [{ type: "web_search" }] },
    usage: { input_tokens: 20, output_tokens: 7, total_tokens: 27 },
  };
}

/** The events of a text that comes in these pieces. */
function messageEvents(index: number, pieces: string[], id: string): object[] {
  const text = pieces.join("");
  const place = { item_id: id, output_index: index, content_index: 0 };
  const empty = { ...message("", id), status: "in_progress", content: [] };
  return [
    { type: "response.output_item.added", output_index: index, item: empty },
    { type: "response.content_part.added", ...place, part: textPart("") },
    ...pieces.map((delta) => {
      return {
        type: "response.output_text.delta",
        ...place,
        delta,
        logprobs: [],
        obfuscation: "x",
      };
    }),
    { type: "response.output_text.done", ...place, text, logprobs: [] },
    { type: "response.content_part.done", ...place, part: textPart(text) },
    { type: "response.output_item.done", output_index: index, item: message(text, id) },
  ];
}

/** Items that no format of ours has a word for, with events of their own. */
function hostedEvents(): object[] {
  const at = (item: { id: string }, output_index: number) => ({ item_id: item.id, output_index });
  return [
    { type: "response.output_item.added", output_index: 0, item: { ...search, action: null } },
    { type: "response.web_search_call.searching", ...at(search, 0) },
    { type: "response.output_item.done", output_index: 0, item: search },
    { type: "response.output_item.added", output_index: 1, item: { ...code, code: "" } },
    { type: "response.code_interpreter_call_code.delta", ...at(code, 1), delta: "print(1)" },
    { type: "response.code_interpreter_call_code.done", ...at(code, 1), code: "print(1)" },
    { type: "response.output_item.done", output_index: 1, item: code },
    { type: "response.telepathy.sensed", ...at(unknownItem, 2), depth: { of: "thought" } },
    { type: "response.output_item.done", output_index: 2, item: unknownItem },
  ];
}

function allEvents(first: string[], second: string[]): any[] {
  const output = [
    ...[search, code, unknownItem],
    ...[message(first.join(""), "msg_1"), message(second.join(""), "msg_2")],
  ];
  return [
    { type: "response.created", response: responseOf([], "in_progress") },
    { type: "response.in_progress", response: responseOf([], "in_progress") },
    ...hostedEvents(),
    ...messageEvents(3, first, "msg_1"),
    ...messageEvents(4, second, "msg_2"),
    { type: "response.completed", response: responseOf(output) },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
}

const written = (event: any) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

async function askStream(events: any[]): Promise<any[]> {
  up.answer = (_, res) => stream(res, ...events.map(written));
  const request = { model: "up/gpt-5", input: "Hi", stream: true, tools: [{ type: "web_search" }] };
  const response = await gateway.request("POST", "/v1/responses", request);
  assert.is(response.status, 200);
  assert.is(response.headers.get("x-portico-dropped"), null);
  assert.is(up.seen.at(-1)!.path, "/v1/responses");
  const text = await response.text();
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!));
}

/** Without what the gateway puts right in every response. */
function comparable(event: any): object {
  const { sequence_number: _, response, ...others } = event;
  if (response === undefined) return others;
  const { id, store, previous_response_id, instructions, background, ...members } = response;
  return { ...others, response: members };
}

const isTextDelta = ({ type }: any) => type === "response.output_text.delta";
const others = (events: any[]) => events.filter((event) => !isTextDelta(event)).map(comparable);
const textAt = (events: any[], index: number) =>
  events
    .filter((event) => isTextDelta(event) && event.output_index === index)
    .map(({ delta }) => delta)
    .join("");

for (const mode of ["piece", "hold", "whole"]) {
  test(`${mode}: hosted tools and unknown events pass beside a text that a hook changes`, async () => {
    await setMode(mode);
    const came = await askStream(allEvents(["so ", "bad", " it is"], ["and ", "good"]));
    const expected = allEvents(["so ", "***", " it is"], ["and ", "good"]);
    assert.equal(others(came), others(expected));
    assert.equal([textAt(came, 3), textAt(came, 4)], ["so *** it is", "and good"]);
    // Without the ids of the response: those are hexadecimal, and may spell the word.
    assert.not.match(JSON.stringify(came.map(comparable)), "bad");
    for (const [i, event] of came.entries()) assert.is(event.sequence_number, i);
    const done = came.findIndex(({ type }) => type === "response.output_text.done");
    const lastDelta = came.findLastIndex((event) => isTextDelta(event) && event.output_index === 3);
    assert.ok(lastDelta < done);
    const { id } = came[0].response;
    const stored = await gateway.json("GET", `/v1/responses/${id}`);
    assert.equal(stored.output, expected.at(-1).response.output);
  });

  test(`${mode}: a stream whose text no hook changes passes event by event`, async () => {
    await setMode(mode);
    const events = allEvents(["all ", "good"], ["and ", "well"]);
    const came = await askStream(events);
    const compared = mode === "hold" ? others : (list: any[]) => list.map(comparable);
    assert.equal(compared(came), compared(events));
  });

  test(`${mode}: a text that comes only in the event that ends it is judged, too`, async () => {
    await setMode(mode);
    const came = await askStream(allEvents(["so bad"], []).filter((event) => !isTextDelta(event)));
    // Without the ids of the response: those are hexadecimal, and may spell the word.
    assert.not.match(JSON.stringify(came.map(comparable)), "bad");
    assert.is(came.at(-1).response.output[3].content[0].text, "so ***");
  });
}

test("in a whole response only the text changes", async () => {
  await setMode("whole");
  const output = (first: string) => [
    ...[search, code, unknownItem],
    ...[message(first, "msg_1"), message("and good", "msg_2")],
  ];
  for (const [text, expected] of [
    ["so bad", "so ***"],
    ["so good", "so good"],
  ]) {
    up.answer = (_, res) => json(res, responseOf(output(text!)));
    const request = { model: "up/gpt-5", input: "Hi", tools: [{ type: "web_search" }] };
    const body = await gateway.json("POST", "/v1/responses", request);
    assert.equal([body.output, body.unknown_member], [output(expected!), { big: 1 }]);
    assert.is(body.usage.total_tokens, 27);
  }
});

test("a refusal in place of a text is judged like one", async () => {
  await setMode("whole");
  const refusal = { type: "refusal", refusal: "I am bad at this" };
  const output = [search, { ...message(""), content: [refusal] }];
  up.answer = (_, res) => json(res, responseOf(output));
  const body = await gateway.json("POST", "/v1/responses", { model: "up/gpt-5", input: "Hi" });
  assert.is(body.output[1].content[0].refusal, "I am *** at this");
  assert.equal(body.output[0], search);
});

test("masking a secret leaves every other event unchanged", async () => {
  await setMode("piece");
  const pieces = ["it is ", "secret-key-", "of-the-channel", " indeed"];
  const came = await askStream(allEvents(pieces, ["end with ", SECRET]));
  const all = JSON.stringify(came);
  assert.not.match(all, SECRET);
  const hosted = hostedEvents().length;
  assert.equal(came.slice(2, 2 + hosted).map(comparable), hostedEvents());
  for (const index of [3, 4]) {
    const text = textAt(came, index);
    const done = came.filter(({ output_index: at, type }) => at === index && /done$/.test(type));
    assert.is(done[0].text, text);
    assert.is(came.at(-1).response.output[index].content[0].text, text);
    const lastDelta = came.findLastIndex(
      (event) => isTextDelta(event) && event.output_index === index,
    );
    assert.ok(lastDelta < came.indexOf(done[0]), `text ${index} is complete before its end`);
  }
});

test("the first event may hold what is hidden", async () => {
  await setMode("piece");
  const events = allEvents(["good"], []);
  events[0].response.metadata = { note: SECRET };
  const came = await askStream(events);
  assert.not.match(JSON.stringify(came), SECRET);
  assert.equal(
    came.map(({ type }) => type),
    events.map(({ type }) => type),
  );
  for (const [i, event] of came.entries()) assert.is(event.sequence_number, i);
});

test.run();
