/** Usage that an upstream does not tell, or that cannot be true, is estimated; requests carry tags and tell their cost. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { portico } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  completion,
  DONE,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("estimated usage");
const REAL = { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 };
const ZEROS = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
const TEXT = "four words of text ".repeat(4);
const messages = [{ role: "user", content: "A question of about ten tokens, or a few more." }];

/** The usage that the upstream reports, by the model's name. */
const NONSENSE: Record<string, unknown> = {
  missing: undefined,
  empty: {},
  zeros: ZEROS,
  negative: { prompt_tokens: -5, completion_tokens: -1e9, total_tokens: -1e9 },
  "one-negative": { prompt_tokens: 12, completion_tokens: -7, total_tokens: 5 },
  huge: { prompt_tokens: 12, completion_tokens: 1e12, total_tokens: 1e12 },
  "huge-prompt": { prompt_tokens: 5_000_000, completion_tokens: 7, total_tokens: 5_000_007 },
  unsafe: { prompt_tokens: 2 ** 60, completion_tokens: 2 ** 60, total_tokens: 2 ** 61 },
  more: { prompt_tokens: 12, completion_tokens: 500_000, total_tokens: 500_012 },
  fraction: { prompt_tokens: 12.5, completion_tokens: 7.25, total_tokens: 20 },
  words: { prompt_tokens: "many", completion_tokens: "few", total_tokens: null },
  list: [1, 2, 3],
};
/** Several usage chunks of one stream, by the model's name. */
const SEVERAL: Record<string, unknown[]> = {
  "zeros-last": [REAL, ZEROS],
  "zeros-first": [ZEROS, REAL],
  "nonsense-last": [REAL, { ...REAL, completion_tokens: -1, prompt_tokens: -1 }],
  "better-last": [{ ...REAL, completion_tokens: 1, total_tokens: 13 }, REAL],
};

let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream(({ body }, res) => {
    const model = String(body.model);
    const usages = SEVERAL[model] ?? [model in NONSENSE ? NONSENSE[model] : REAL];
    if (!body.stream) return json(res, { ...completion(TEXT, { model }), usage: usages[0] });
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(chunk({ role: "assistant", content: "" }));
    for (const word of TEXT.split(/(?<= )/)) res.write(chunk({ content: word }));
    res.write(chunk({}, "stop"));
    for (const usage of usages) res.write(chunk({}, null, { choices: [], usage }));
    res.end(DONE);
  });
  const channel = { provider: "openai", baseUrl: up.url };
  gateway = await startGateway({
    config: {
      channels: { whole: channel, stream: channel, said: channel, tagged: channel },
      models: { quick: "whole/gpt-4o-mini" },
      usage: { prices: { "*": { input: 1, output: 2 } } },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

async function ask(model: string, more: object = {}, headers: Record<string, string> = {}) {
  const body = { model, messages, ...more };
  const response = await gateway.request("POST", "/v1/chat/completions", body, { headers });
  assert.is(response.status, 200, model);
  return { headers: response.headers, text: await response.text() };
}

async function row(channel: string, model: string) {
  const query = `by=model&channel=${channel}&model=${model}`;
  return (await gateway.json("GET", `/usage?${query}`)).rows[0];
}

for (const model of Object.keys(NONSENSE)) {
  test(`${model}: it is estimated, marked and priced, whole and streamed`, async () => {
    await ask(`whole/${model}`);
    await ask(`stream/${model}`, { stream: true });
    const responses = await gateway.request("POST", "/v1/messages", {
      model: `said/${model}`,
      max_tokens: 50,
      messages,
    });
    assert.is(responses.status, 200);
    await responses.text();
    for (const channel of ["whole", "stream", "said"]) {
      const { promptTokens, completionTokens, estimated, costUsd } = await row(channel, model);
      const limits = JSON.stringify({ channel, promptTokens, completionTokens });
      assert.is(estimated, 1, limits);
      assert.ok(promptTokens >= 8 && promptTokens <= 25, limits);
      assert.ok(completionTokens >= 7 && completionTokens <= 40, limits);
      assert.ok(Math.abs(costUsd - (promptTokens + 2 * completionTokens) / 1e6) < 1e-9, limits);
    }
  });
}

for (const model of Object.keys(SEVERAL)) {
  test(`${model}: of several usage chunks the last with real numbers counts`, async () => {
    const { text } = await ask(`stream/${model}`, {
      stream: true,
      stream_options: { include_usage: true },
    });
    const { promptTokens, completionTokens, estimated } = await row("stream", model);
    assert.equal([promptTokens, completionTokens, estimated], [12, 7, 0]);
    assert.not.match(text, '"prompt_tokens":0');
  });
}

test("hidden reasoning is plausible if the request leaves room for it", async () => {
  NONSENSE["thinking"] = { ...REAL, completion_tokens: 30_000, total_tokens: 30_012 };
  await ask("whole/thinking");
  assert.is((await row("whole", "thinking")).completionTokens, 30_000);
  await ask("stream/thinking", { max_tokens: 100 });
  assert.is((await row("stream", "thinking")).estimated, 1, "but not beyond max_tokens");
});

test("a whole response states its cost", async () => {
  const { headers } = await ask("whole/good");
  assert.is(headers.get("x-portico-cost"), "0.000026");
  const streamed = await ask("stream/good", { stream: true });
  assert.is(streamed.headers.get("x-portico-cost"), null);
});

test("a key's limits that rely on estimates are reported", async () => {
  const { key: token } = await gateway.json("POST", "/keys", {
    name: "held",
    tokensPerMinute: 1e6,
  });
  const readKey = async () =>
    (await gateway.json("GET", "/keys")).keys.find(({ name }: any) => name === "held").warnings;
  const body = (model: string) => ({ model, messages });
  await gateway.request("POST", "/v1/chat/completions", body("whole/good"), { token });
  assert.is(await readKey(), undefined);
  await gateway.request("POST", "/v1/chat/completions", body("whole/missing"), { token });
  assert.match((await readKey())[0], /estimates, because 1 of 2 responses .*whole\/missing/);
  const listed = await portico(gateway.home, ["keys", "list"]);
  assert.match(listed.stdout, /warning: held: the key's limits rely on estimates/);
});

test("models list their context window and price if known", async () => {
  const readModel = async (id: string) => gateway.json("GET", `/v1/models/${id}`);
  const known = await readModel("whole/gpt-4o-mini");
  assert.is(known.context_window, 128_000);
  assert.equal(
    known.pricing,
    { prompt: "0.000001", completion: "0.000002" },
    "prices of one's own",
  );
  assert.is((await readModel("whole/nobody-knows")).context_window, undefined);
  const agent = await readModel("agent");
  assert.equal([agent.context_window, agent.pricing], [undefined, undefined]);
  const { data } = await gateway.json("GET", "/v1/models");
  assert.is(data.find(({ id }: any) => id === "quick").context_window, 128_000, "an alias");
});

test("tags reach reports and single requests, from the header and the body", async () => {
  await ask("tagged/one", {}, { "x-portico-tags": "night, team-a" });
  await ask("tagged/two", { metadata: { tags: ["team-a", "team-a", 7] } });
  await ask("tagged/three", { metadata: { tags: "day,team-b" } });
  await ask("tagged/four");
  const { rows, total } = await gateway.json("GET", "/usage?by=tag&channel=tagged");
  assert.equal(
    rows.map(({ tag, requests, totalTokens }: any) => `${tag} ${requests} ${totalTokens}`).sort(),
    ["day 1 19", "night 1 19", "team-a 2 38", "team-b 1 19"],
  );
  assert.is(total.requests, 5);
  const all = await gateway.json("GET", "/usage?channel=tagged");
  assert.is(all.total.requests, 4, "tags add nothing to the sums of all requests");
  const { requests } = await gateway.json("GET", "/usage/requests?tag=team-a&channel=tagged");
  assert.equal(
    requests.map(({ model, tags }: any) => [model, tags]),
    [
      ["two", ["team-a"]],
      ["one", ["night", "team-a"]],
    ],
  );
  const list = await portico(gateway.home, ["usage", "--by", "tag", "--tag", "night", "--json"]);
  assert.is(JSON.parse(list.stdout).rows[0].requests, 1);
});

test.run();
