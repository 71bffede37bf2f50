/** The list of gateways that share a store: who is on it, and when they leave it. */
import * as assert from "uvu/assert";
import type { GatewayEntry } from "../../../plugins/cluster/index.ts";
import { spawnGateway, startGateway, type TestGateway } from "../../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../../support/machine/postgres.ts";
import { porticoHere } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";
import { untilRight } from "../../support/until.ts";

const test = suite("the list of gateways");
let postgres: TestPostgres;
test.before(async () => {
  postgres = await startPostgres();
});
test.after(() => postgres.stop());

async function list(gateway: TestGateway): Promise<GatewayEntry[]> {
  const { gateways } = await gateway.json<{ gateways: GatewayEntry[] }>("GET", "/gateways");
  return gateways;
}

const namesOf = (entries: readonly GatewayEntry[]) => entries.map(({ name }) => name).sort();

test("gateways that share a store list each other, and one that stops leaves at once", async () => {
  const config = (name: string) => ({ gateway: { name }, store: { url } });
  const url = postgres.emptyUrl();
  const [local, other] = await Promise.all([
    startGateway({ config: config("one") }),
    startGateway({ config: config("other") }),
  ]);
  try {
    for (const gateway of [local, other])
      await untilRight(
        () => list(gateway).then(namesOf),
        (names) => names.join() === "one,other",
      );
    const [own, another] = await list(local);
    assert.ok(own?.isThis);
    assert.is(own?.name, "one", "the one that responds comes first");
    assert.is(own?.url, local.url);
    assert.is(own?.pid, process.pid);
    assert.is(own?.workers, 1);
    assert.is(own?.version, "0.0.0-test");
    assert.not(another?.isThis);
    assert.is(another?.url, other.url);
    assert.ok(Date.parse(another?.seenAt ?? "") >= Date.parse(another?.startedAt ?? ""));
    assert.type(another?.ageMs, "number");
    const { code, stdout } = await porticoHere(local.home, ["gateways"]);
    assert.is(code, 0);
    assert.match(stdout, local.url);
    assert.match(stdout, other.url);
  } finally {
    await other.stop();
  }
  assert.equal(namesOf(await list(local)), ["one"]);
  await local.stop();
});

test("the workers of a gateway share one entry, which disappears with them", async () => {
  const store = { url: postgres.emptyUrl() };
  const gateway = await startGateway({ config: { gateway: { name: "one" }, store } });
  const other = await spawnGateway({ config: { gateway: { name: "other", workers: 2 }, store } });
  const names = () => list(gateway).then(namesOf);
  await untilRight(names, (all) => all.join() === "one,other");
  const entry = (await list(gateway)).find(({ name }) => name === "other");
  assert.is(entry?.workers, 2);
  assert.is(entry?.pid, other.child.pid);
  assert.is(entry?.url, other.url);
  for (const [own, ...others] of await Promise.all([list(other), list(other), list(other)])) {
    assert.is(own?.id, entry?.id, "each worker knows which entry is its own");
    assert.is(own?.startedAt, entry?.startedAt, "whichever worker responds");
    assert.equal(namesOf(others), ["one"]);
  }
  await other.stop();
  assert.equal(await names(), ["one"]);
  await gateway.stop();
});

test("a gateway that was killed leaves the list 15 seconds after its last sign of life", async () => {
  const url = postgres.emptyUrl();
  const schema = /search_path%3D(\w+)/.exec(url)?.[1];
  const gateway = await startGateway({ config: { gateway: { name: "one" }, store: { url } } });
  const other = await spawnGateway({ config: { gateway: { name: "other" }, store: { url } } });
  const names = () => list(gateway).then(namesOf);
  await untilRight(names, (all) => all.join() === "one,other");
  await other.kill("SIGKILL");
  const { id } = (await list(gateway)).find(({ name }) => name === "other") as GatewayEntry;
  const where = `WHERE namespace = 'gateways' AND key = '${id}'`;
  const lifetime = `SELECT expires_at - (value::json->>'seenAt')::bigint FROM ${schema}.kv ${where}`;
  // The entry was made a moment before it was written.
  assert.ok(Number(postgres.sql(lifetime)) < 16_000, postgres.sql(lifetime));
  // As it is when that time is over, for which the test does not wait.
  postgres.sql(`UPDATE ${schema}.kv SET expires_at = expires_at - 16000 ${where}`);
  assert.equal(await names(), ["one"]);
  await gateway.stop();
});

test("a gateway with a store in a file lists only itself", async () => {
  const gateway = await startGateway();
  const entries = await list(gateway);
  assert.is(entries.length, 1);
  assert.ok(entries[0]?.isThis);
  assert.is(entries[0]?.url, gateway.url);
  await gateway.stop();
});

test.run();
