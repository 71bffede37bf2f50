/** When, from where and with which secret a key works. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { hashOf } from "../../../plugins/keys/grant.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { portico } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";

const test = suite("secrets of keys");
let gateway: InProcessGateway;
let near: InProcessGateway;
let far: InProcessGateway;

const key = (name: string, more = {}) => ({ [name]: { hash: hashOf(`pk_${name}`), ...more } });

test.before(async () => {
  const agents = { defaults: { heartbeat: { every: "0" } } };
  gateway = await startGateway({
    config: {
      agents,
      gateway: {
        trustedProxies: ["127.0.0.1"],
        keys: {
          ...key("over", { expiresAt: "2026-01-31T12:00:00Z" }),
          ...key("over-day", { expiresAt: "2026-01-31" }),
          ...key("works", { expiresAt: "2999-01-01" }),
          ...key("home", { allowedIps: ["10.1.0.0/16", "2001:db8::7", "192.0.2.1"] }),
          ...key("replaced", {
            previous: { hash: hashOf("pk_older"), until: "2999-01-01T00:00:00Z" },
          }),
          ...key("replaced-long-ago", {
            previous: { hash: hashOf("pk_oldest"), until: "2026-01-01T00:00:00Z" },
          }),
        },
      },
    },
  });
  const store = { url: `file:${join(temporaryDir(), "shared.db")}`, shared: true };
  near = await startGateway({ config: { agents, store } });
  far = await startGateway({ config: { agents, store } });
});
test.after(async () => {
  await Promise.all([gateway, near, far].map((instance) => instance?.stop()));
});

async function ask(token: string, at = gateway, address?: string) {
  const body = { model: "echo", messages: [{ role: "user", content: "Hi" }] };
  const headers: Record<string, string> = address ? { "x-forwarded-for": address } : {};
  const response = await at.request("POST", "/v1/chat/completions", body, { token, headers });
  const { error } = (await response.json()) as { error?: { code: string } };
  return error === undefined ? response.status : `${response.status} ${error.code}`;
}

test("a key works until it expires", async () => {
  assert.is(await ask("pk_over"), "401 invalid_api_key");
  assert.is(await ask("pk_over-day"), "401 invalid_api_key");
  assert.is(await ask("pk_works"), 200);
  const { keys } = await gateway.json("GET", "/keys");
  const states = Object.fromEntries(keys.map(({ name, state }: any) => [name, state]));
  assert.equal([states.over, states.works], ["expired", "active"]);
});

test("a key with allowedIps works only from these addresses", async () => {
  for (const address of [
    "10.1.2.3",
    "2001:db8::7",
    "2001:db8:0::7",
    "192.0.2.1",
    "::ffff:10.1.2.3",
  ])
    assert.is(await ask("pk_home", gateway, address), 200, address);
  for (const address of [undefined, "10.2.0.1", "2001:db8::8", "192.0.2.10"])
    assert.is(await ask("pk_home", gateway, address), "403 address_not_allowed", String(address));
  const models = await gateway.request("GET", "/v1/models", undefined, { token: "pk_home" });
  assert.is(models.status, 403);
});

test("both secrets of a rotated key work until the overlap is over", async () => {
  assert.is(await ask("pk_replaced"), 200);
  assert.is(await ask("pk_older"), 200);
  assert.is(await ask("pk_replaced-long-ago"), 200);
  assert.is(await ask("pk_oldest"), "401 invalid_api_key");
});

test("a rotation keeps limits and usage, and shows no hash", async () => {
  const limits = { requestsPerMinute: 3, allowedIps: ["127.0.0.1"] };
  const made = await gateway.json("POST", "/keys", { name: "ci", ...limits });
  assert.is(await ask(made.key), 200);
  const rotated = await gateway.json("POST", "/keys/ci/rotate", { overlap: "1h" });
  assert.is.not(rotated.key, made.key);
  assert.equal([rotated.requestsPerMinute, rotated.allowedIps], [3, ["127.0.0.1"]]);
  const left = Date.parse(rotated.previousUntil) - Date.now();
  assert.ok(left > 3_500_000 && left <= 3_600_000, rotated.previousUntil);
  assert.not.match(JSON.stringify([rotated, await gateway.json("GET", "/keys")]), "sha256:");
  assert.equal([await ask(made.key), await ask(rotated.key)], [200, 200]);
  assert.is(await ask(rotated.key), "429 rate_limit_exceeded", "the limit is the key's");
  assert.not.match(readFileSync(join(gateway.home, "portico.json"), "utf8"), rotated.key);
});

test("without an overlap the old secret expires at once, and invalid overlaps are refused", async () => {
  const { key: old } = await gateway.json("POST", "/keys", { name: "short" });
  const { key: next } = await gateway.json("POST", "/keys/short/rotate", { overlap: "0" });
  assert.equal([await ask(old), await ask(next)], ["401 invalid_api_key", 200]);
  const { key: last } = await gateway.json("POST", "/keys/short/rotate", {});
  assert.equal(
    [await ask(old), await ask(next), await ask(last)],
    ["401 invalid_api_key", 200, 200],
  );
  for (const overlap of ["soon", -1, "-1h", true, "300y"]) {
    const refused = await gateway.request("POST", "/keys/short/rotate", { overlap });
    assert.is(refused.status, 400, String(overlap));
  }
  assert.is((await gateway.request("POST", "/keys/nobody/rotate", {})).status, 404);
  const client = await gateway.request("POST", "/keys/short/rotate", {}, { token: last });
  assert.is(client.status, 403, "a key does not rotate itself");
});

test("a key keeps its sessions after a rotation", async () => {
  const { key: old } = await gateway.json("POST", "/keys", { name: "talker", models: ["echo"] });
  const say = (token: string, more: object) =>
    gateway
      .request("POST", "/v1/responses", { model: "echo", input: "Hi", ...more }, { token })
      .then((response) => response.json() as Promise<any>);
  const { id } = await say(old, { store: true });
  const { key: next } = await gateway.json("POST", "/keys/talker/rotate", {});
  const response = await gateway.request("GET", `/v1/responses/${id}`, undefined, { token: next });
  assert.is(response.status, 200);
});

test("both secrets work in all gateways that share a store", async () => {
  const { key: old } = await near.json("POST", "/keys", { name: "shared" });
  assert.is(await ask(old, far), 200);
  const { key: next } = await far.json("POST", "/keys/shared/rotate", { overlap: "1h" });
  for (const at of [near, far]) assert.equal([await ask(old, at), await ask(next, at)], [200, 200]);
  const { keys } = await near.json("GET", "/keys");
  assert.is(keys.length, 1);
});

test("the command line creates and rotates keys", async () => {
  const run = async (...words: string[]) =>
    JSON.parse((await portico(gateway.home, ["keys", ...words, "--json"])).stdout);
  const made = await run("create", "line", "--allow", "10.0.0.0/8,127.0.0.1", "--expires", "30d");
  assert.equal(made.allowedIps, ["10.0.0.0/8", "127.0.0.1"]);
  assert.ok(Date.parse(made.expiresAt) > Date.now());
  const rotated = await run("rotate", "line", "--overlap", "30m");
  assert.equal([await ask(made.key), await ask(rotated.key)], [200, 200]);
});

test.run();
