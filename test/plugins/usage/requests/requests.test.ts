/** Single requests as the owner sees them: GET /usage/requests and `portico usage requests`. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, makeHome, startGateway } from "../../../support/gateway.ts";
import { porticoHere } from "../../../support/portico.ts";
import { until } from "../../../support/until.ts";
import {
  chunk,
  completion,
  DONE,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../../support/upstreams/upstream.ts";

const test = suite("single requests");
const messages = [{ role: "user", content: "Hi" }];
const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };

let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream(({ body: { model, stream: streamed } }, res) => {
    if (model === "fails") return json(res, { error: { message: "no" } }, 400);
    if (model === "down") return json(res, { error: { message: "down" } }, 503);
    if (!streamed) return json(res, completion("Hello", { model, usage }));
    const helloChunk = chunk({ role: "assistant", content: "Hello" }, "stop", { model });
    stream(res, helloChunk, chunk({}, null, { model, choices: [], usage }), DONE);
  });
  gateway = await startGateway({ config: configFor(up) });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

function configFor({ url }: Upstream, flushMs = 1000): Record<string, unknown> {
  return {
    channels: {
      main: { provider: "openai", baseUrl: url },
      broken: { provider: "openai", baseUrl: url, maxRetries: 0 },
    },
    models: { either: { targets: ["broken/down", "main/gpt-4o"] } },
    usage: { flushMs },
    agents: { defaults: { heartbeat: { every: "0" } } },
  };
}

/** Returns the request's id. */
async function ask(
  model: string,
  more: object = {},
  options: { token?: string } = {},
  to = gateway,
): Promise<string> {
  const response = await to.request(
    "POST",
    "/v1/chat/completions",
    { model, messages, ...more },
    options,
  );
  await response.text();
  return response.headers.get("x-request-id")!;
}
const list = (query: string, from = gateway) => from.json("GET", `/usage/requests?${query}`);

test("a request is listed under the id of its response, with its price from the start", async () => {
  const before = Date.now();
  const id = await ask("main/gpt-4o-mini");
  const { requests, next, from, to } = await list("model=gpt-4o-mini");
  const [{ at, ms, firstByteMs, ...rest }] = requests;
  assert.equal(rest, {
    requestId: id,
    channel: "main",
    model: "gpt-4o-mini",
    key: null,
    status: 200,
    attempts: 1,
    stream: false,
    promptTokens: 1000,
    completionTokens: 100,
    cachedTokens: 0,
    costUsd: 0.00021,
  });
  assert.ok(Date.parse(at) >= before && Date.parse(at) <= Date.now(), at);
  assert.ok(Number.isInteger(ms) && firstByteMs <= ms, `${firstByteMs} of ${ms}`);
  assert.equal([requests.length, next], [1, undefined]);
  assert.ok(from < at && at <= to);
});

test("streams, failures, other attempts and client keys show as what they were", async () => {
  const { key } = await gateway.json("POST", "/keys", { name: "ci" });
  await ask("main/gpt-4.1", { stream: true }, { token: key });
  await ask("main/fails", {}, { token: key });
  await ask("either");
  const { requests } = await until("three requests", async () => {
    const page = await list("limit=3");
    return page.requests[2]?.stream && page;
  });
  assert.equal(
    requests.map((row: any) => [
      row.model,
      row.key,
      row.status,
      row.attempts,
      row.stream,
      row.promptTokens,
    ]),
    [
      ["gpt-4o", null, 200, 2, false, 1000],
      ["fails", "ci", 400, 1, false, undefined],
      ["gpt-4.1", "ci", 200, 1, true, 1000],
    ],
  );
  assert.equal(
    (await list("key=ci&status=4xx")).requests.map((row: any) => row.model),
    ["fails"],
  );
});

test("pages follow each other, also while requests come in", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.unshift(await ask("main/paged"));
  const first = await list("model=paged&limit=2");
  await ask("main/paged");
  const second = await list(`model=paged&limit=2&before=${first.next}`);
  const third = await list(`model=paged&limit=2&before=${second.next}`);
  assert.equal(
    [first, second, third].flatMap((page) => page.requests.map((row: any) => row.requestId)),
    ids,
  );
  assert.is(third.next, undefined);
});

for (const [query, param] of [
  ["limit=0", "limit"],
  ["limit=1001", "limit"],
  ["limit=ten", "limit"],
  ["status=600", "status"],
  ["status=bad", "status"],
  ["before=yesterday", "before"],
  ["since=7x", "since"],
  ["to=tomorrow", "to"],
  ["from=2026-02-01&to=2026-01-01", "from"],
]) {
  test(`refuses ?${query}`, async () => {
    const response = await gateway.request("GET", `/usage/requests?${query}`);
    const { error } = (await response.json()) as any;
    assert.equal([response.status, error.code, error.param], [400, "invalid_request_error", param]);
  });
}

test("only the owner may read the usage", async () => {
  assert.is(
    (await gateway.request("GET", "/usage/requests", undefined, { token: null })).status,
    401,
  );
});

test("requests outlive the gateway, also those not yet written when it stopped", async () => {
  const home = makeHome();
  const first = await startGateway({ home, config: configFor(up, 3_600_000) });
  const id = await ask("main/gpt-4o-mini", {}, {}, first);
  await first.stop();
  const second = await startGateway({ home });
  try {
    const other = await ask("main/gpt-4o-mini", {}, {}, second);
    assert.equal(
      (await list("", second)).requests.map((row: any) => [row.requestId, row.costUsd]),
      [
        [other, 0.00021],
        [id, 0.00021],
      ],
    );
  } finally {
    await second.stop();
  }
});

test("the command line shows them, page by page", async () => {
  const cli = (...words: string[]) => porticoHere(gateway.home, ["usage", "requests", ...words]);
  const ids = [await ask("main/typed"), await ask("main/typed")];
  const page = await cli("--since", "1h", "--model", "typed", "--limit", "1");
  assert.is(page.code, 0, page.stderr);
  assert.match(
    page.stdout,
    /^AT +REQUEST +CHANNEL +MODEL +KEY +STATUS +TRIES +MS +TTFB +PROMPT-TOK +CACHED-TOK +OUTPUT-TOK +COST$/m,
  );
  assert.match(
    page.stdout,
    new RegExp(`${ids[1]} +main +typed +\\(owner\\) +200 +1 +\\d+ +\\d+ +1000 +0 +100 +-$`, "m"),
  );
  const before = /--before (\S+)/.exec(page.stdout)![1]!;
  const rest = JSON.parse((await cli("--model", "typed", "--before", before, "--json")).stdout);
  assert.equal(
    rest.requests.map((row: any) => row.requestId),
    [ids[0]],
  );
  const refused = await cli("--status", "bad");
  assert.is(refused.code, 1);
  assert.match(refused.stderr, "status");
});

test.run();
