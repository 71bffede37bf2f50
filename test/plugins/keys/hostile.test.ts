/** Attempts of a client key to reach other sessions, the agent, another holder's responses and the disk. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { hashOf } from "../../../plugins/keys/grant.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { ownDirectory } from "portico/agent";
import { until } from "../../support/until.ts";

const test = suite("hostile client keys");
let gateway: InProcessGateway;

test.before(async () => {
  const models = (...list: string[]) => ({ models: list });
  const keys: Record<string, object> = {
    agent: models("agent", "agent/*", "nick", "side/*"),
    star: models("*"),
    stars: models("*/*", "*a*", "**"),
    alias: models("nick", "deep", "mixed"),
    channel: models("side/*", "side/main", "main"),
    bare: models("main"),
    unlisted: {},
    plain: models("echo"),
  };
  for (const name of Object.keys(keys)) keys[name] = { hash: hashOf(`pk_${name}`), ...keys[name] };
  gateway = await startGateway({
    config: {
      channels: { side: { provider: "agent" } },
      models: { nick: "agent", deep: "nick", mixed: { targets: ["echo", "side/main"] } },
      gateway: { keys },
      agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
      responses: { maxBytesPerKey: 20_000 },
    },
  });
});
test.after(() => gateway?.stop());

async function call(
  method: string,
  path: string,
  body?: unknown,
  options: { token?: string; headers?: Record<string, string> } = {},
) {
  const response = await gateway.request(method, path, body, options);
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as any,
  };
}
function ask(token: string, body: object, headers: Record<string, string> = {}) {
  const messages = [{ role: "user", content: "Hi" }];
  return call(
    "POST",
    "/v1/chat/completions",
    { model: "agent", messages, ...body },
    { token, headers },
  );
}
const sessions = async () => {
  const { json } = await call("GET", "/sessions");
  return (json.sessions as { id: string }[]).map(({ id }) => id);
};

test("an alias, channel or pattern that does not name the agent gives no access to it", async () => {
  const names = ["agent", "agent/main", "nick", "deep", "mixed", "side/main", "main"];
  for (const key of ["star", "stars", "alias", "channel", "bare", "unlisted", "plain"]) {
    for (const model of names) {
      const { status, json } = await ask(`pk_${key}`, { model });
      assert.is(status, 403, `${key} ${model}`);
      assert.is(json.error.code, "model_not_found");
    }
    const listed = await call("GET", "/v1/models", undefined, { token: `pk_${key}` });
    const ids = (listed.json.data as { id: string }[]).map(({ id }) => id);
    assert.equal(
      ids.filter((id) => names.includes(id)),
      [],
      key,
    );
  }
  for (const model of ["agent", "agent/main", "nick", "side/main"])
    assert.is((await ask("pk_agent", { model })).status, 200, model);
});

test("a session that a key names is always a session of that key", async () => {
  await ask(gateway.token, {}, { "x-portico-session": "main" });
  const before = (await call("GET", "/sessions/main")).json;
  await ask("pk_agent", {}, { "x-portico-session": "main" });
  await ask("pk_agent", {}, { "x-portico-session": "key:other:main" });
  await ask("pk_agent", { user: "main" });
  await ask("pk_agent", { user: "x:../main", metadata: { session: "main", user_id: "main" } });
  await ask("pk_agent", {});
  assert.equal((await call("GET", "/sessions/main")).json, before);
  const own = (await sessions()).filter((id) => id !== "main");
  for (const id of [
    "key:agent:main",
    "key:agent:key:other:main",
    "key:agent:chat:main",
    "key:agent:chat:x:../main",
  ])
    assert.ok(own.includes(id), `${id} in ${own}`);
  assert.ok(own.every((id) => id.startsWith("key:agent:")));
});

const make = async (name: string, models: string[]) =>
  (await call("POST", "/keys", { name, models })).json.key as string;
test("a session of a key can neither list nor create the owner's jobs and polls", async () => {
  for (const tool of ["cron", "polls"]) {
    const messages = [{ role: "user", content: `Call ${tool}` }];
    const own = await ask("pk_agent", { messages });
    assert.is(
      own.json.choices[0].message.content,
      `Call ${tool}`,
      "echo finds no tool of that name",
    );
    const owners = await ask(gateway.token, { messages });
    assert.is.not(owners.json.choices[0].message.content, `Call ${tool}`);
  }
});

const respond = (key: string, body: object) =>
  call("POST", "/v1/responses", { model: "echo", ...body }, { token: key });
const read = async (key: string, id: string) =>
  (await call("GET", `/v1/responses/${id}`, undefined, { token: key })).status;

test("a new key with the name of a revoked key gives no access to data of the revoked key", async () => {
  const first = await make("shared", ["echo", "agent"]);
  const { json } = await respond(first, { input: "a secret" });
  await ask(first, {}, { "x-portico-session": "diary" });
  assert.is(await read(first, json.id), 200);
  assert.ok((await sessions()).includes("key:shared:diary"));
  await call("DELETE", "/keys/shared");
  const second = await make("shared", ["echo", "agent"]);
  assert.is(await read(second, json.id), 404);
  const resumed = await respond(second, { input: "and?", previous_response_id: json.id });
  assert.is(resumed.json.error.code, "previous_response_not_found");
  assert.not.ok((await sessions()).includes("key:shared:diary"));
});

test("nor does a name whose hash was replaced in the file, before or after a restart", async () => {
  const file = join(gateway.home, "portico.json");
  const files = ownDirectory(join(gateway.home, "state"), "key:filed");
  const holds = async (secret: string) => {
    const config = JSON.parse(readFileSync(file, "utf8"));
    config.gateway.keys.filed = { hash: hashOf(secret), models: ["echo", "agent"] };
    gateway.write("portico.json", JSON.stringify(config));
    await until(
      "the key to be known",
      async () => (await ask(secret, { model: "echo" })).status === 200,
    );
  };
  await holds("pk_filed-1");
  const { json } = await respond("pk_filed-1", { input: "a secret" });
  await ask(
    "pk_filed-1",
    { messages: [{ role: "user", content: "Call files" }] },
    { "x-portico-session": "diary" },
  );
  await ask("pk_filed-1", {}, { "x-portico-session": "diary" });
  const readSession = async () =>
    (await call("GET", "/sessions/key:filed:diary")).json.messages?.length ?? 0;
  assert.ok((await readSession()) > 0);
  // the same key again is the same holder
  await holds("pk_filed-1");
  await ask("pk_filed-1", {}, { "x-portico-session": "other" });
  const session = await readSession();
  assert.ok(session > 0);
  writeFileSync(join(files, "note.txt"), "of the first holder");
  await holds("pk_filed-2");
  assert.is(await read("pk_filed-2", json.id), 404);
  await Promise.all([1, 2, 3].map(() => ask("pk_filed-2", {}, { "x-portico-session": "diary" })));
  const own = (await call("GET", "/sessions/key:filed:diary")).json.messages as {
    role: string;
    content: string;
  }[];
  assert.equal(
    own.filter(({ role }) => role === "user").map(({ content }) => content),
    ["Hi", "Hi", "Hi"],
  );
  assert.not.ok((await sessions()).includes("key:filed:other"));
  assert.equal(readdirSync(files), [], "the files of the first holder are gone");
});

test("stored responses of a key are bounded, and the oldest are removed first", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 6; i++)
    ids.push((await respond("pk_plain", { input: "x".repeat(2500) })).json.id);
  const statuses = [];
  for (const id of ids) statuses.push(await read("pk_plain", id));
  assert.is(statuses[0], 404);
  assert.is(statuses.at(-1), 200);
  assert.equal(statuses, [...statuses].sort().reverse());
});

test("a request larger than the quota is served but not stored, and the response reports that", async () => {
  const { status, json, headers } = await respond("pk_plain", { input: "x".repeat(30_000) });
  assert.is(status, 200);
  assert.is(json.store, false);
  assert.match(headers.get("x-portico-dropped")!, /\bstore\b/);
  assert.is(await read("pk_plain", json.id), 404);
  const owner = await respond(gateway.token, { input: "x".repeat(30_000) });
  assert.is(await read(gateway.token, owner.json.id), 200);
});

test("a deleted response releases its share of the quota", async () => {
  const { id } = (await respond("pk_star", { input: "x".repeat(8_000) })).json;
  await call("DELETE", `/v1/responses/${id}`, undefined, { token: "pk_star" });
  const keptId = (await respond("pk_star", { input: "y".repeat(5_000) })).json.id;
  const last = (await respond("pk_star", { input: "z".repeat(500) })).json.id;
  assert.equal([await read("pk_star", keptId), await read("pk_star", last)], [200, 200]);
});

test("a small request does not become large because it names one item a thousand times", async () => {
  const big = await respond(gateway.token, { input: "x".repeat(200_000) });
  const item = { type: "item_reference", id: big.json.output[0].id };
  const { status, json } = await respond(gateway.token, { input: Array(1000).fill(item) });
  assert.is(status, 400);
  assert.match(json.error.param, /^input\[\d+\]$/);
});

test.run();
