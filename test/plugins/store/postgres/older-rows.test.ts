/** Stores of older versions: gateways that start at once migrate them once, and no row of a running gateway is lost. */
import * as assert from "uvu/assert";
import { openStore } from "../../../../plugins/store/open.ts";
import { openPool } from "../../../../plugins/store/postgres/connection.ts";
import { migrations } from "../../../../plugins/store/sql/migrations.ts";
import { startPostgres, type TestPostgres } from "../../../support/machine/postgres.ts";
import { quietLog } from "../../../support/quiet-log.ts";
import { suite } from "../../../support/suite.ts";
import { until } from "../../../support/until.ts";

/** The last version that packed deliveries. */
const OLD_VERSION = 10;
/** The last version that counted no times of requests. */
const UNTIMED_VERSION = 15;
const BLOCKS = 40;
const PER_BLOCK = 5;

const test = suite("rows of an older version in PostgreSQL");
let server: TestPostgres;
test.before(async () => {
  server = await startPostgres({ settings: ["fsync=off"] });
});
test.after(async () => {
  server.refuseDeadlocks();
  await server.stop();
});

function translated(part: string): string {
  return part
    .replace("{serial}", "BIGSERIAL PRIMARY KEY")
    .replace("{waiting}", "state = 'queued'")
    .replace(/ TEXT\b/g, ' TEXT COLLATE "C"');
}

function blockOf(block: number): string {
  const ids = Array.from({ length: PER_BLOCK }, (_, n) => `d${block}_${n}`);
  const meta = JSON.stringify({
    ids,
    itemIds: ids.map((_, n) => (n === 0 ? `i${block}` : null)),
    head: '{"n":',
    metas: ids.map((_, n) => String(n)),
    tail: "}",
  });
  const payload = JSON.stringify(ids.map((id) => (id.endsWith("0") ? `payload of ${id}` : null)));
  return `INSERT INTO deliveries (id, first_id, at, source, outcome, item_id, size, meta, payload)
    VALUES ('${ids.at(-1)}', '${ids[0]}', ${block}, 'wake', 'accepted', NULL, ${PER_BLOCK}, '${meta}', '${payload}');`;
}

test("packed deliveries are unpacked once and keep their content", async () => {
  const url = server.emptyUrl("older");
  const parts = migrations.slice(0, OLD_VERSION).flat() as string[];
  assert.ok(parts.every((part) => typeof part === "string"));
  server.sql(
    [
      "SET search_path TO older;",
      ...parts.map((part) => `${translated(part)};`),
      "CREATE TABLE portico_schema (version INTEGER NOT NULL);",
      `INSERT INTO portico_schema VALUES (${OLD_VERSION});`,
      ...Array.from({ length: BLOCKS }, (_, block) => blockOf(block)),
    ].join("\n"),
  );
  const stores = [1, 2].map(() => openStore({ url, log: quietLog() }));
  try {
    const lists = await Promise.all(stores.map((store) => store.deliveries.list({ limit: 1000 })));
    for (const list of lists) assert.is(list.length, BLOCKS * PER_BLOCK);
    const [store] = stores;
    const first = await store!.deliveries.get("d7_0");
    assert.equal([first?.at, first?.itemId, first?.meta], [7, "i7", { n: 0 }]);
    assert.is(first?.payload, "payload of d7_0");
    const last = await store!.deliveries.get("d7_4");
    assert.equal([last?.itemId, last?.payload, last?.meta], [undefined, undefined, { n: 4 }]);
    assert.equal(await store!.check(), []);
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
});

test("usage that a gateway of the older version writes during the migration is kept", async () => {
  const url = server.emptyUrl("untimed");
  const opening = openStore({ url, log: quietLog() });
  await opening.usage.append([{ model: "m", requests: 1 }]);
  await opening.close();
  server.sql(`UPDATE untimed.portico_schema SET version = ${UNTIMED_VERSION}`);
  const pool = await openPool(url, { size: 1 });
  const olderGateway = await pool.connect();
  const store = openStore({ url, log: quietLog() });
  try {
    await olderGateway.query("BEGIN");
    await olderGateway.query("UPDATE usage_minutes SET requests = requests + 1");
    const sums = store.usage.sum({ withTimes: true });
    await until("the migration to wait for the older gateway", () =>
      Number(server.sql("SELECT COUNT(*) FROM pg_locks WHERE NOT granted")),
    );
    await olderGateway.query("COMMIT");
    const [sum] = await sums;
    assert.is(sum?.requests, 2);
  } finally {
    olderGateway.release();
    await Promise.all([pool.end(), store.close()]);
  }
});

test.run();
