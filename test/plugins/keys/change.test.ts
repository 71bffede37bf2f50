/** Changing a client key: limit by limit, and only as it was read. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { hashOf } from "../../../plugins/keys/grant.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { untilRight } from "../../support/until.ts";

const test = suite("changed client keys");
let gateway: InProcessGateway;

test.before(async () => {
  const ci = {
    hash: hashOf("pk_ci"),
    requestsPerMinute: 1,
    expires: "2099-12-31",
    models: ["echo"],
  };
  gateway = await startGateway({ config: { gateway: { keys: { ci } } } });
});
test.after(() => gateway.stop());

const change = (name: string, limits: object, version?: string) =>
  gateway.request("PATCH", `/keys/${name}`, limits, {
    headers: version === undefined ? {} : { "if-match": `"${version}"` },
  });
const versionOf = async (name: string): Promise<string> =>
  (await gateway.json("GET", `/keys/${name}`)).version;
const chat = async (token: string) => {
  const body = { model: "echo", messages: [{ role: "user", content: "Hi" }] };
  return (await gateway.request("POST", "/v1/chat/completions", body, { token })).status;
};

/** What the console's undo sends after it has created or disabled a key. */
test("creating and disabling a key can be undone, unless the key has changed since", async () => {
  const created = await gateway.json("POST", "/keys", { name: "ann" });
  const revoke = (version: string) =>
    gateway.request("DELETE", "/keys/ann", undefined, { headers: { "if-match": `"${version}"` } });
  const disabled = await change("ann", { enabled: false }, created.version);
  const { version } = (await disabled.json()) as { version: string };
  assert.is(await chat(created.key), 401);

  const refused = await revoke(created.version);
  const { error } = (await refused.json()) as { error: Record<string, unknown> };
  assert.equal(
    [refused.status, error["code"], error["version"]],
    [412, "precondition_failed", version],
  );
  assert.is((await change("ann", { enabled: true }, created.version)).status, 412);
  assert.is((await gateway.json("GET", "/keys/ann")).state, "disabled", "both left it as it was");

  assert.is((await change("ann", { enabled: true }, version)).status, 200);
  assert.is(await chat(created.key), 200);
  assert.is((await revoke(await versionOf("ann"))).status, 200);
  assert.is(await chat(created.key), 401);
});

test("a budget beyond the range of exact integers is refused", async () => {
  const budget = { usd: 2 ** 54, per: "month" };
  const response = await gateway.request("POST", "/keys", { name: "rich", budget });
  const changed = await change("ci", { budget }, await versionOf("ci"));
  for (const refused of [response, changed]) {
    const { error } = (await refused.json()) as { error: Record<string, unknown> };
    assert.equal([refused.status, error["param"]], [400, "budget.usd"]);
  }
});

test("limits can be set and removed separately, take effect at once, and leave the others unchanged", async () => {
  assert.equal([await chat("pk_ci"), await chat("pk_ci")], [200, 429]);
  const limits = { requestsPerMinute: 5, models: null, budget: { usd: 3, per: "month" } };
  const changed = await change("ci", limits, await versionOf("ci"));
  assert.is(changed.status, 200);
  const key = (await changed.json()) as Record<string, unknown>;
  assert.equal(
    [key["requestsPerMinute"], key["models"], key["expires"], key["budget"]],
    [5, undefined, "2099-12-31", { usd: 3, per: "month" }],
  );
  assert.is(changed.headers.get("etag"), `"${key["version"]}"`);
  assert.is(await chat("pk_ci"), 200);
  const next = await change(
    "ci",
    { expiresAt: "2099-01-31", enabled: false },
    await versionOf("ci"),
  );
  assert.is(next.status, 200);
  const written = JSON.parse(readFileSync(join(gateway.home, "portico.json"), "utf8"));
  assert.equal(written.gateway.keys.ci, {
    hash: hashOf("pk_ci"),
    requestsPerMinute: 5,
    budget: { usd: 3, per: "month" },
    expiresAt: "2099-01-31",
    enabled: false,
  });
  assert.is(await chat("pk_ci"), 401);
});

test("a change without the version that was read, or with another version, changes nothing", async () => {
  await gateway.json("POST", "/keys", { name: "two", requestsPerMinute: 2 });
  const read = await versionOf("two");
  assert.is((await change("two", { requestsPerMinute: 9 })).status, 428);
  assert.is((await change("two", { requestsPerMinute: 3 }, read)).status, 200);
  assert.is((await change("two", { requestsPerMinute: 9 }, read)).status, 412);
  assert.is((await gateway.json("GET", "/keys/two")).requestsPerMinute, 3);
});

test("an unknown limit and an unknown key are refused by name", async () => {
  const version = await versionOf("ci");
  const wrong = { hash: "sha256:00" };
  assert.is((await change("ci", wrong, version)).status, 400);
  assert.is((await change("ci", {}, version)).status, 400);
  assert.is((await change("ci", { allowedIps: ["nowhere"] }, version)).status, 400);
  assert.is((await change("nobody", { requestsPerMinute: 1 }, version)).status, 404);
});

test("only one of two simultaneous changes succeeds", async () => {
  const read = await versionOf("two");
  const both = await Promise.all([
    change("two", { tokensPerMinute: 100 }, read),
    change("two", { requestsPerMinute: 7 }, read),
  ]);
  assert.is(both.filter(({ status }) => status === 200).length, 1);
});

test("the changed limit holds in all gateways that share a store", async () => {
  const config = { store: { url: `file:${join(gateway.home, "shared.db")}`, shared: true } };
  const near = await startGateway({ config });
  const far = await startGateway({ config });
  try {
    const { key } = await near.json("POST", "/keys", { name: "shared", requestsPerMinute: 1 });
    const ask = async () => {
      const body = { model: "echo", messages: [{ role: "user", content: "Hi" }] };
      return (await far.request("POST", "/v1/chat/completions", body, { token: key })).status;
    };
    assert.is(await ask(), 200);
    const { version } = await near.json("GET", "/keys/shared");
    const changed = await near.request(
      "PATCH",
      "/keys/shared",
      { enabled: false },
      { headers: { "if-match": `"${version}"` } },
    );
    assert.is(changed.status, 200);
    await untilRight(ask, (status) => status === 401);
    assert.is((await far.json("GET", "/keys/shared")).state, "disabled");
  } finally {
    await near.stop();
    await far.stop();
  }
});

test("a key that is revoked while it is changed or rotated stays revoked", async () => {
  for (const [verb, path, body] of [
    ["POST", "/rotate", {}],
    ["PATCH", "", { requestsPerMinute: 3 }],
  ] as const) {
    for (let round = 0; round < 10; round++) {
      await gateway.json("POST", "/keys", { name: "brief" });
      const [revoked] = await Promise.all([
        gateway.request("DELETE", "/keys/brief"),
        gateway.request(verb, `/keys/brief${path}`, body, { headers: { "if-match": "*" } }),
      ]);
      assert.is(revoked.status, 200, `${verb} ${round}`);
      const left = await gateway.request("GET", "/keys/brief");
      assert.is(left.status, 404, `${verb} ${round}`);
      await gateway.request("DELETE", "/keys/brief");
    }
  }
});

test("of two changes of one key at once, one succeeds, and the other is refused with a request to try again", async () => {
  const { key: _, ...made } = await gateway.json("POST", "/keys", { name: "twice" });
  const both = await Promise.all(
    [3, 4].map((requestsPerMinute) => change("twice", { requestsPerMinute }, made.version)),
  );
  const refused = both.find(({ status }) => status !== 200);
  assert.ok(refused);
  const { error } = (await refused.json()) as { error: { code: string; message: string } };
  assert.ok(["conflict", "precondition_failed"].includes(error.code), error.code);
  assert.match(error.message, /again/);
});

test.run();
