/** Client keys of gateways that share a store: two of them, and one that starts later. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { hashOf } from "../../../plugins/keys/grant.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { untilRight } from "../../support/until.ts";

const test = suite("shared client keys");
const gateways: InProcessGateway[] = [];
const config = {
  store: { url: `file:${join(temporaryDir(), "shared.db")}`, shared: true },
  gateway: { keys: { own: { hash: hashOf("pk_own") } } },
  agents: { defaults: { heartbeat: { every: "0" } } },
};

async function start(own = {}): Promise<InProcessGateway> {
  const gateway = await startGateway({ config: { ...config, ...own } });
  gateways.push(gateway);
  return gateway;
}

let near: InProcessGateway;
let far: InProcessGateway;
test.before(async () => {
  near = await start();
  far = await start({ gateway: {} });
});
test.after(async () => {
  for (const gateway of gateways) await gateway.stop();
});

const chat = async (gateway: InProcessGateway, token: string) =>
  (
    await gateway.request(
      "POST",
      "/v1/chat/completions",
      { model: "echo", messages: [{ role: "user", content: "Hi" }] },
      { token },
    )
  ).status;
interface Keys {
  keys: {
    name: string;
    state: string;
    models?: string[];
    requestsPerMinute?: number;
    hash?: string;
  }[];
}

const list = async (gateway: InProcessGateway) =>
  ((await (await gateway.request("GET", "/keys")).json()) as Keys).keys;
const names = async (gateway: InProcessGateway) =>
  (await list(gateway)).map(({ name }) => name).sort();

async function make(gateway: InProcessGateway, name: string, limits = {}): Promise<string> {
  const response = await gateway.request("POST", "/keys", { name, ...limits });
  assert.is(response.status, 201);
  return ((await response.json()) as { key: string }).key;
}

test("a key that one gateway has created works at the other at once, and is in no configuration", async () => {
  const key = await make(near, "ci", { models: ["echo"], requestsPerMinute: 3 });
  assert.equal([await chat(far, key), await chat(near, key)], [200, 200]);
  assert.equal(await names(far), ["ci"]);
  assert.equal(await names(near), ["ci", "own"]);
  const entry = (await list(far))[0]!;
  assert.equal(
    [entry.state, entry.models, entry.requestsPerMinute, entry.hash],
    ["active", ["echo"], 3, undefined],
  );
  assert.not.match(readFileSync(join(near.home, "portico.json"), "utf8"), /"ci"/);
  assert.equal(
    [await chat(far, key), await chat(near, key)],
    [200, 429],
    "its limit counts over both",
  );
});

test("a gateway that starts later accepts the key", async () => {
  const key = await make(far, "early");
  const late = await start({ gateway: {} });
  assert.is(await chat(late, key), 200);
  assert.ok((await names(late)).includes("early"));
});

test("a key that one gateway revokes is invalid at the others, and its name is free again", async () => {
  const key = await make(near, "gone");
  assert.is(await chat(far, key), 200);
  assert.is((await far.request("DELETE", "/keys/gone")).status, 200);
  assert.is(await chat(far, key), 401);
  await untilRight(
    () => chat(near, key),
    (status) => status === 401,
  );
  assert.is((await far.request("DELETE", "/keys/gone")).status, 404);
  const next = await make(far, "gone");
  assert.equal([await chat(near, next), await chat(near, key)], [200, 401]);
});

test("a name that another gateway has taken is a conflict, and a key of a gateway's own configuration is valid only there", async () => {
  await make(near, "taken");
  assert.is((await far.request("POST", "/keys", { name: "taken" })).status, 409);
  assert.equal([await chat(near, "pk_own"), await chat(far, "pk_own")], [200, 401]);
  assert.is((await near.request("DELETE", "/keys/own")).status, 200);
  assert.is(await chat(near, "pk_own"), 401);
});

test("the other gateway lists and revokes at once what one gateway has created or revoked", async () => {
  await make(near, "quick");
  assert.ok((await names(far)).includes("quick"));
  assert.is((await far.request("DELETE", "/keys/quick")).status, 200);
  assert.not((await names(near)).includes("quick"));
});

test("only one of several gateways that create a key with the same name at once succeeds", async () => {
  const makers = [near, far, near, far].map((gateway) =>
    gateway.request("POST", "/keys", { name: "race" }),
  );
  const statuses = (await Promise.all(makers)).map(({ status }) => status);
  assert.equal(statuses.sort(), [201, 409, 409, 409]);
  assert.is((await names(near)).filter((name) => name === "race").length, 1);
});

test("an unknown key is still refused", async () => {
  for (const token of ["pk_nobody", "nobody", "pk_"]) assert.is(await chat(far, token), 401, token);
});

test.run();
