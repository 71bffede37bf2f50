/** The gateway's record of single requests, over HTTP and on the command line. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import * as assert from "uvu/assert";
import { porticoHere } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { ask, asked, gateway, KEYS, SECRET, startScene, stopScene, storyOf } from "./scene.ts";

const test = suite("requests");
test.before(startScene);
test.after(stopScene);

test("one page shows the caller, each attempt's response, each hook's changes, and the cost", async () => {
  const headers = { "x-portico-tags": "nightly" };
  const response = await ask("smart", KEYS.ci, {}, headers);
  assert.is(response.status, 200);
  const story = await storyOf(response);
  assert.is(story.key, "ci");
  assert.is(story.principal, "key:ci");
  assert.is(story.alias, "smart");
  assert.is(story.route, "POST /v1/chat/completions");
  assert.is(story.outcome, "ok");
  assert.is(story.status, 200);
  assert.equal(story.tags, ["nightly"]);
  assert.equal(
    story.attempts.map(({ channel, model, status }: any) => [channel, model, status]),
    [
      ["one", "down", 503],
      ["two", "full", 429],
      ["three", "gpt-4o-mini", 200],
    ],
  );
  for (const attempt of story.attempts) assert.type(attempt.ms, "number");
  assert.match(story.attempts[1].cause, "slow down");
  assert.type(story.attempts[2].firstByteMs, "number");
  const hooks = Object.fromEntries(story.hooks.map((hook: any) => [hook.name, hook]));
  assert.equal(hooks.polite.fields, ["request.temperature", "request.user"]);
  assert.equal(hooks.names.fields, ["content"]);
  assert.equal(hooks.looks.fields, []);
  assert.type(hooks.names.ms, "number");
  assert.is(story.promptTokens, 1000);
  assert.is(story.cachedTokens, 500);
  assert.is(story.completionTokens, 100);
  assert.is(story.costUsd, 0.0001725);
  assert.is(story.headers["x-portico-attempts"], "3");
  assert.is(story.headers["x-portico-cost"], "0.0001725");
  assert.not.match(JSON.stringify(story), SECRET);
});

test("texts are kept of the channels and keys that log.content names, and of no others", async () => {
  const story = await storyOf(await ask("smart", KEYS.ci, { stream: true }));
  assert.equal(story.prompt, [{ role: "user", content: "Write to Bob" }]);
  assert.match(JSON.stringify(story.response), "Dear Ada");
  const names = story.hooks.find((hook: any) => hook.name === "names");
  assert.equal(names.changes, [{ field: "content", before: "Dear Bob", after: "Dear Ada" }]);

  const other = await storyOf(await ask("quiet/plain", KEYS.ci));
  assert.not.ok("prompt" in other);
  assert.not.ok("response" in other);
  assert.not.match(JSON.stringify(other), "Bob");
  assert.not.match(JSON.stringify(other), "Ada");
  assert.equal(other.hooks.find((hook: any) => hook.name === "names").fields, ["content"]);
});

test("a request as curl can be sent again from a shell, and holds no secret", async () => {
  const story = await storyOf(await ask("smart", KEYS.ci, { stream: true }));
  const args = ["requests", "show", story.id, "--curl"];
  const at = ["--url", gateway.url, "--token", gateway.token];
  const { stdout, code } = await porticoHere(gateway.home, [...args, ...at]);
  assert.is(code, 0);
  assert.match(stdout, "$PORTICO_TOKEN");
  assert.match(stdout, "Write to Bob");
  assert.not.match(stdout, gateway.token);
  const env = { ...process.env, PORTICO_TOKEN: gateway.token };
  const sent = await promisify(execFile)("sh", ["-c", stdout], { env });
  assert.match(sent.stdout, "data: [DONE]");

  const quiet = await storyOf(await ask("quiet/plain", KEYS.ci));
  assert.match(quiet.curl, "log.content");
});

test("secrets are masked in kept texts", async () => {
  const response = await gateway.request("POST", "/v1/chat/completions", {
    model: "smart",
    messages: [{ role: "user", content: `my key is ${SECRET}` }],
  });
  const story = await storyOf(response);
  assert.match(story.prompt[0].content, "my key is");
  assert.not.match(JSON.stringify(story), SECRET);
});

test("refused requests are listed with the reason of the refusal", async () => {
  const unknown = await storyOf(await ask("smart", "pk-unknown-000000000"));
  assert.equal(
    [unknown.status, unknown.outcome, unknown.error.code, unknown.principal, unknown.key],
    [401, "refused", "unauthorized", "outside", null],
  );
  const forbidden = await storyOf(await ask("smart", KEYS.narrow));
  assert.equal(
    [forbidden.status, forbidden.outcome, forbidden.key, forbidden.alias],
    [403, "refused", "narrow", "smart"],
  );
  await (await ask("quiet/plain", KEYS.few)).text();
  const limited = await storyOf(await ask("quiet/plain", KEYS.few));
  assert.equal(
    [limited.status, limited.key, limited.error.code, limited.error.limit],
    [429, "few", "rate_limit_exceeded", "requestsPerMinute"],
  );
  assert.type(limited.headers["retry-after"], "string");
  for (const [model, limit] of [
    ["paced/paced", "requestsPerMinute"],
    ["cheap/cheap", "tokensPerMinute"],
  ] as const) {
    await (await ask(model, KEYS.ci)).text();
    const { status, error } = await storyOf(await ask(model, KEYS.ci));
    assert.equal([status, error.limit], [429, limit], "a limit of the channel");
  }
  const invalid = await storyOf(
    await gateway.request("POST", "/v1/chat/completions", { model: 7, messages: [] }),
  );
  assert.equal([invalid.status, invalid.outcome], [400, "refused"]);
  const missing = await storyOf(await ask("nowhere-at-all"));
  assert.equal(
    [missing.status, missing.alias, missing.error.code],
    [404, "nowhere-at-all", "model_not_found"],
  );
  const nothing = await storyOf(await gateway.request("POST", "/v1/nothing", {}));
  assert.equal([nothing.status, nothing.error.code], [404, "not_found"]);
});

test("a failure of all targets names each of them", async () => {
  const story = await storyOf(await ask("one/down"));
  assert.is(story.outcome, "failed");
  assert.is(story.attempts.length, 1);
  assert.is(story.error.code, story.attempts[0].code);
});

test("lists are filtered, and go on page by page", async () => {
  const list = async (query: string) => (await gateway.json("GET", `/requests?${query}`)).requests;
  const cases: [string, (request: any) => boolean][] = [
    ["key=ci", (request: any) => request.key === "ci"],
    ["key=", (request: any) => request.key === null],
    ["model=smart", (request: any) => request.alias === "smart"],
    [
      "channel=two",
      (request: any) => request.attempts.some(({ channel }: any) => channel === "two"),
    ],
    ["status=4xx", (request: any) => request.status >= 400 && request.status < 500],
    ["status=401", (request: any) => request.status === 401],
    ["principal=outside", (request: any) => request.principal === "outside"],
    ["outcome=refused", (request: any) => request.outcome === "refused"],
    ["tag=nightly", (request: any) => request.tags.includes("nightly")],
    ["since=1h&outcome=ok", (request: any) => request.outcome === "ok"],
  ];
  for (const [query, fits] of cases) {
    const rows = await list(query);
    assert.ok(rows.length > 0, query);
    assert.ok(rows.every(fits), query);
  }
  assert.equal(await list("until=2020-01-01"), []);
  const all = await list("limit=1000");
  const id = all[2].id as string;
  assert.equal(
    (await list(`id=${id.slice(2)}`)).map((request: any) => request.id),
    [id],
  );

  const paged: string[] = [];
  let next = "";
  do {
    const page = await gateway.json("GET", `/requests?limit=3${next && `&before=${next}`}`);
    paged.push(...page.requests.map((request: any) => request.id));
    next = page.next ?? "";
  } while (next !== "");
  assert.equal(
    paged,
    all.map((request: any) => request.id),
  );

  for (const bad of ["status=9", "outcome=good", "since=soon", "before=x", "limit=0"]) {
    const refused = await gateway.request("GET", `/requests?${bad}`);
    assert.is(refused.status, 400, bad);
    assert.is(((await refused.json()) as any).error.param, bad.split("=")[0]);
  }
});

test("a request whose client left is cancelled, with the attempt that was under way", async () => {
  const abort = new AbortController();
  const id = "req-that-is-left";
  const isAsked = once(asked, "slow");
  const body = { model: "quiet/slow", messages: [{ role: "user", content: "Wait" }] };
  const leaving = gateway.request("POST", "/v1/chat/completions", body, {
    headers: { "x-request-id": id },
    signal: abort.signal,
  });
  await isAsked;
  abort.abort();
  await leaving.catch(() => {});
  const story = await until("the story", async () => {
    const response = await gateway.request("GET", `/requests/${id}`);
    return response.status === 200 ? ((await response.json()) as any) : undefined;
  });
  assert.equal([story.outcome, story.status, story.alias], ["cancelled", 499, "quiet/slow"]);
  assert.equal(
    story.attempts.map(({ channel }: any) => channel),
    ["quiet"],
  );
});

test("requests are visible to the owner alone, and an unknown id receives a 404", async () => {
  for (const token of [null, KEYS.ci])
    for (const path of ["/requests", "/requests/req_1"]) {
      const { status } = await gateway.request("GET", path, undefined, { token });
      assert.is(status, token === null ? 401 : 403, path);
    }
  const missing = await gateway.request("GET", "/requests/req_none");
  assert.is(missing.status, 404);
});

test("the command shows the list and one request's timeline", async () => {
  const response = await ask("smart", KEYS.ci);
  const { id } = await storyOf(response);
  const list = await porticoHere(gateway.home, ["requests", "--key", "ci", "--limit", "1"]);
  assert.match(list.stdout, "smart");
  assert.match(list.stdout, "gpt-4o-mini");
  const show = await porticoHere(gateway.home, ["requests", "show", id]);
  for (const text of [id, "one / down", "three / gpt-4o-mini", "polite", "request.temperature"])
    assert.match(show.stdout, text);
  const asJson = await porticoHere(gateway.home, ["requests", "show", id, "--json"]);
  assert.is(JSON.parse(asJson.stdout).id, id);
});

test("the log line of a request names key, model, channel, attempts and error code", async () => {
  const lineOf = (id: string | null) =>
    gateway.lines.find((line) => line["id"] === id && line["msg"] === "request");
  const { id } = await storyOf(await ask("smart", KEYS.ci));
  const { key, model, channel, attempts } = lineOf(id)!;
  assert.equal([key, model, channel], ["ci", "smart", "three"]);
  assert.ok((attempts as number) >= 1);
  const refused = await storyOf(await ask("smart", KEYS.narrow));
  assert.is(lineOf(refused.id)!["code"], refused.error.code);
});

test("the owner's reads have an ETag, and those of a page and its files are logged at debug", async () => {
  const first = await gateway.request("GET", "/channels");
  const etag = first.headers.get("etag")!;
  await first.text();
  const headers = { "if-none-match": etag, "x-portico-poll": "1" };
  const again = await gateway.request("GET", "/channels", undefined, { headers });
  assert.is(again.status, 304);
  assert.is(again.headers.get("etag"), etag);
  const refused = await gateway.request("GET", "/channels", undefined, { token: null, headers });
  await refused.text();
  assert.is(refused.status, 401);
  const script = await gateway.request("GET", "/dashboard/page/main.js", undefined, {
    headers: { "sec-fetch-dest": "script" },
  });
  await script.text();
  assert.is(script.status, 200);
  const lineOf = (response: Response) => {
    const id = response.headers.get("x-request-id");
    return gateway.lines.find((line) => line["id"] === id && line["msg"] === "request");
  };
  await until("the lines", () => lineOf(refused) !== undefined && lineOf(first) !== undefined);
  assert.equal([lineOf(again), lineOf(script)], [undefined, undefined], "the log is at info");
});

test("a change of log.content applies to the next request", async () => {
  const set = await porticoHere(gateway.home, ["config", "set", "log.content", "true"]);
  assert.is(set.code, 0, set.stderr);
  const story = await until("a prompt", async () => {
    const next = await storyOf(await ask("quiet/plain", KEYS.ci));
    return "prompt" in next ? next : undefined;
  });
  assert.match(JSON.stringify(story.prompt), "Write to Bob");
});

test.run();
