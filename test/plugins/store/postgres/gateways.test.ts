/** Several gateways over one PostgreSQL, which goes away and comes back. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import * as assert from "uvu/assert";
import { openEngine, openStore } from "../../../../plugins/store/open.ts";
import { LISTENING } from "../../../../plugins/store/postgres/notifications.ts";
import { first } from "../../../../plugins/store/sql/query.ts";
import type { Store } from "../../../../plugins/store/types.ts";
import { startGateway } from "../../../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../../../support/machine/postgres.ts";
import { quietLog } from "../../../support/quiet-log.ts";
import { suite } from "../../../support/suite.ts";
import { until } from "../../../support/until.ts";

const test = suite("stores over one PostgreSQL");
let server: TestPostgres;
let stores: Store[] = [];
test.before(async () => {
  server = await startPostgres();
});
test.after(() => server.stop());
test.after.each(async () => {
  await Promise.all(stores.map((store) => store.close()));
  stores = [];
});

async function open(count: number, url = server.emptyUrl()): Promise<Store[]> {
  stores = Array.from({ length: count }, () => openStore({ url, log: quietLog() }));
  await Promise.all(stores.map((store) => store.open()));
  return stores;
}
const turn = (id: string, lane = "a") => ({ id, lane, kind: "turn", body: { id } });

test("four gateways that start at once create the tables once", async () => {
  const all = await open(4);
  await Promise.all(all.map((store, n) => store.kv.set("n", `k${n}`, n)));
  assert.equal(await all[0]?.kv.list("n"), ["k0", "k1", "k2", "k3"]);
  assert.equal(await all[0]?.check(), []);
});

test("the first backlog is processed through the index of waiting items, even before the server has analysed the table", async () => {
  const url = server.emptyUrl();
  const schema = /search_path%3D(\w+)/.exec(url)?.[1] ?? assert.unreachable(url);
  const [store] = (await open(1, url)) as [Store];
  server.sql(`
    INSERT INTO ${schema}.items (id, kind, lane, state, body, max_attempts, created_at, run_at)
      SELECT 'i' || n, 'turn', 'webhook:' || md5(n::text), 'queued', '{}', 5, 0, 0 FROM generate_series(1, 20000) n;
    INSERT INTO ${schema}.lanes (kind, lane, ready_at, ord, since)
      SELECT kind, lane, 0, seq, 0 FROM ${schema}.items`);
  const claims = await store.claim("w", 5, 10_000, ["turn"]);
  assert.is(claims.length, 5);
  for (const claim of claims) assert.ok(await store.finish(claim, { state: "done" }));
  await store.close();
  // each connection says at its end what it has read
  const read = `SELECT SUM(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = '${schema}'`;
  const scanQuery = `SELECT SUM(idx_scan) FROM pg_stat_user_indexes WHERE schemaname = '${schema}' AND indexrelname = 'lanes_ready'`;
  await until("the server has counted", () => Number(server.sql(scanQuery)) > 0);
  assert.ok(Number(server.sql(read)) < 1000, `${server.sql(read)} rows were read`);
});

test("a gateway is notified at once of work that another one adds", async () => {
  const [a, b] = (await open(2)) as [Store, Store];
  const notified = new Promise<void>((resolve) => b.onWork("turn", resolve));
  await a.enqueue({ items: [turn("t1")] });
  await notified;
  assert.is((await b.claim("b", 1, 1000, ["turn"]))[0]?.item.id, "t1");
});

for (const [what, schema] of [
  ["63 bytes", `"${"ü".repeat(31)}s"`],
  ["56 bytes", "s".repeat(56)],
  ["55 bytes", "s".repeat(55)],
  ["quotes", `"a""b""c"`],
] as const) {
  test(`stores in a schema whose name has ${what} hear each other, and are seen by a command that would move them`, async () => {
    const url = server.emptyUrl(schema);
    const [a, b] = (await open(2, url)) as [Store, Store];
    const notified = new Promise<void>((resolve) => b.onWork("turn", resolve));
    await a.enqueue({ items: [turn("t1")] });
    await notified;
    const engine = openEngine({ url, log: quietLog() });
    const listening = await engine
      .read(() => first<{ n: number }>(LISTENING))
      .finally(() => engine.close());
    assert.is(listening?.n, 3);
  });
}

test("another database user sees that a gateway is connected, without seeing its queries", async () => {
  const url = server.emptyUrl();
  const [gateway] = (await open(1, url)) as [Store];
  await gateway.enqueue({ items: [turn("t1")] });
  const schema = /search_path%3D(\w+)/.exec(url)?.[1];
  server.sql(`CREATE ROLE mover LOGIN PASSWORD 'mover'`);
  server.sql(`GRANT ALL ON SCHEMA ${schema} TO mover`);
  server.sql(`GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO mover`);
  const engine = openEngine({
    url: `${server.tcpUrl({ user: "mover", password: "mover" })}?options=-c%20search_path%3D${schema}`,
    log: quietLog(),
  });
  const listening = await engine
    .read(() => first<{ n: number }>(LISTENING))
    .finally(() => engine.close());
  assert.is(listening?.n, 2);
});

test("foreign notifications on the stores' channel end no gateway and only make it look for work", async () => {
  const url = server.emptyUrl();
  const [a, b] = (await open(2, url)) as [Store, Store];
  let looked = 0;
  b.onWork("turn", () => looked++);
  const channel = `"portico:${/search_path%3D(\w+)/.exec(url)?.[1]}"`;
  const payloads = ["", "hello", "null", "7", '{"kinds":7}', '{"kinds":{"turn":1}}'];
  for (const payload of payloads) server.sql(`NOTIFY ${channel}, '${payload}'`);
  await until("b to have looked for each", () => looked >= payloads.length);
  const before = looked;
  await a.enqueue({ items: [turn("t1")] });
  await until("b to hear of a's work", () => looked > before);
});

test("a limit is exact over all gateways, and a key that one knows is known to all", async () => {
  const all = await open(4);
  const limit = { key: "k", max: 25, windowMs: 60_000 };
  const accepted = await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      (all[n % 4] as Store).enqueue({ items: [turn(`t${n}`, `l${n % 7}`)], limit }),
    ),
  );
  assert.is(accepted.filter((each) => each.limit?.allowed).length, 25);
  const dedup = { key: "d", ttlMs: 60_000, answer: 1 };
  const first = await Promise.all(
    all.map((store, n) => store.enqueue({ items: [turn(`once${n}`)], dedup })),
  );
  assert.is(first.filter(({ duplicate }) => duplicate === undefined).length, 1);
});

test("duplicates that reach all gateways at once take nothing from the limit, and receive the first one's result", async () => {
  const all = await open(4);
  const limit = { key: "k", max: 20, windowMs: 600_000 };
  for (let n = 1; n <= limit.max; n++) {
    const dedup = { key: `d${n}`, ttlMs: 600_000, answer: n };
    const batches = all
      .flatMap((store) => [store, store])
      .map((store) => store.enqueue({ dedup, limit }));
    const answers = await Promise.all(batches);
    assert.equal(
      answers.map(({ duplicate, limit }) => [duplicate ? duplicate.answer : n, limit?.remaining]),
      answers.map(() => [n, limit.max - n]),
    );
    assert.is(
      answers.filter(({ duplicate }) => duplicate === undefined).length,
      1,
      `first uses of ${n}`,
    );
  }
});

test("lanes keep their order, each item is finished once, and a slot fires once, with four at work", async () => {
  const all = await open(4);
  const ids = Array.from({ length: 120 }, (_, n) => `t${String(n).padStart(3, "0")}`);
  for (const id of ids)
    await (all[0] as Store).enqueue({ items: [turn(id, `l${Number(id.slice(1)) % 6}`)] });
  const nextAt = (all[0] as Store).now() - 1;
  await (all[0] as Store).schedules.put({ kind: "cron", id: "j", enabled: true, nextAt, body: {} });
  const slot = { kind: "cron", id: "j", expectedNext: nextAt, next: nextAt + 60_000 };
  const finished: string[] = [];
  const work = async (store: Store, n: number) => {
    const fired = await store.tick(slot, { items: [turn(`fired${n}`, "fired")] });
    for (let idle = 0; idle < 20; ) {
      const claims = await store.claim(`w${n}`, 3, 30_000, ["turn"]);
      idle = claims.length === 0 ? idle + 1 : 0;
      if (claims.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await Promise.all(
        claims.map(async (claim) => {
          const messages = [
            { session: claim.item.lane, messages: [{ role: "assistant", body: claim.item.id }] },
          ];
          if (await store.finish(claim, { state: "done" }, { messages }))
            finished.push(claim.item.id);
        }),
      );
    }
    return fired;
  };
  const fired = await Promise.all(all.map(work));
  assert.is(fired.filter((rev) => rev !== undefined).length, 1);
  assert.equal(finished.filter((id) => id.startsWith("t")).sort(), ids);
  assert.is(finished.filter((id) => id.startsWith("fired")).length, 1);
  for (let lane = 0; lane < 6; lane++) {
    const transcript = (await (all[1] as Store).sessions.transcript(`l${lane}`)).map(
      ({ body }) => body as string,
    );
    assert.equal(transcript, [...transcript].sort(), "out of order");
    assert.is(transcript.length, 20);
  }
  assert.equal(await (all[2] as Store).check(), []);
});

test("when connections are cut under load, nothing acknowledged is lost and nothing exists twice", async () => {
  const all = await open(2);
  const acknowledged: string[] = [];
  let over = false;
  const callers = Array.from({ length: 16 }, async (_, caller) => {
    for (let n = 0; !over; n++) {
      const id = `c${caller}-${n}`;
      await (all[caller % 2] as Store).enqueue({ items: [turn(id, `l${caller}`)] }).then(
        () => acknowledged.push(id),
        (error: { code?: string }) => assert.is(error.code, "store_unavailable"),
      );
    }
  });
  for (let cuts = 0; cuts < 4; cuts++) {
    const before = acknowledged.length;
    await until("more writes", () => acknowledged.length > before + 20);
    server.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'portico'",
    );
  }
  over = true;
  await Promise.all(callers);
  for (const id of acknowledged) assert.ok(await (all[0] as Store).items.get(id), `${id} is lost`);
  assert.equal(await (all[1] as Store).check(), []);
});

test("when a server crashes and restarts, writes wait for it and notifications arrive again", async () => {
  const [a, b] = (await open(2)) as [Store, Store];
  await a.kv.set("n", "before", 1);
  await server.stop("immediate");
  // a busy machine may take longer to start it than one write waits
  const written = until("the write", async () => a.kv.set("n", "meanwhile", 2).then(() => true));
  await Promise.all([written, server.start()]);
  assert.equal(await b.kv.list("n"), ["before", "meanwhile"]);
  let notifications = 0;
  b.onWork("turn", () => notifications++);
  await until("b to hear of a's work", async () => {
    await a.enqueue({ items: [turn(`t${Math.random()}`)] });
    return notifications > 0;
  });
});

test("while a server stays away, requests receive 503 in time and health reports it, and all works once it is back", async () => {
  const [store] = (await open(1)) as [Store];
  await server.stop();
  const error = await store.kv.set("n", "k", 1).then(
    () => undefined,
    (thrown: { code?: string; status?: number; message?: string }) => thrown,
  );
  assert.equal([error?.code, error?.status], ["store_unavailable", 503]);
  assert.not((await store.health()).ok);
  await server.start();
  await store.kv.set("n", "k", 1);
  assert.ok((await store.health()).ok);
});

/** Something between a store and the server, which shows each connection. */
async function startProxy(connected: (socket: Socket) => void) {
  const proxy = createServer((socket) => {
    connected(socket);
    const onward = connect(server.port, "127.0.0.1");
    for (const [first, other] of [
      [socket, onward],
      [onward, socket],
    ] as const)
      first.on("error", () => {}).on("close", () => other.destroy());
    socket.pipe(onward).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const through = (url: string) =>
    url.replace(`:${server.port}/`, `:${(proxy.address() as AddressInfo).port}/`);
  return { through, close: () => proxy.close() };
}

test("a server that asks for a password that the address lacks is not kept waiting", async () => {
  const ended: Promise<unknown>[] = [];
  const proxy = await startProxy((socket) => ended.push(once(socket, "close")));
  try {
    const url = proxy.through(server.tcpUrl().replace(/:[^:@]*@/, "@"));
    await open(1, url).then(
      () => assert.unreachable(),
      ({ message }: Error) =>
        assert.match(message, /requires a password, but the address contains none/),
    );
    await Promise.all(ended);
    assert.is(ended.length, 1);
  } finally {
    proxy.close();
  }
});

test("a server that accepts no writes, and one whose disk is full: the status says so until it is over", async () => {
  const url = server.emptyUrl();
  const [store] = (await open(1, url)) as [Store];
  const gateway = await startGateway({ config: { store: { url } } });
  const writes = () => store.kv.set("n", "k", 1);
  const refused = (why: RegExp) =>
    writes().then(
      () => assert.unreachable(),
      (error: { code?: string; message: string }) => {
        assert.is(error.code, "store_unavailable");
        assert.match(error.message, why);
      },
    );
  const noticed = async () => JSON.stringify((await gateway.json("GET", "/kernel/status")).notices);
  /** Counts for connections that come after it. */
  const readOnly = (word: string) =>
    server.sql(`SET default_transaction_read_only = off;
      ALTER ROLE portico SET default_transaction_read_only = ${word};
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'portico'`);
  const schema = /search_path%3D(\w+)/.exec(url)?.[1];
  try {
    readOnly("on");
    await refused(/accepts no writes/);
    assert.match(String((await store.health()).problem), /accepts no writes/);
    assert.match(await noticed(), /accepts no writes/);
    readOnly("off");
    await writes();
    // connections that have been cut are found so one after the other
    await until("its health", async () => (await store.health()).ok);
    await until("the status to be well", async () => !/accepts no writes/.test(await noticed()));
    // This is the server's own wording.
    server.sql(`CREATE FUNCTION ${schema}.disk_full() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
      CREATE TRIGGER disk_full BEFORE INSERT OR UPDATE ON ${schema}.kv EXECUTE FUNCTION ${schema}.disk_full()`);
    await refused(/disk is full/);
    assert.match(String((await store.health()).problem), /disk is full/);
    server.sql(`DROP TRIGGER disk_full ON ${schema}.kv`);
    await writes();
    assert.ok((await store.health()).ok);
  } finally {
    readOnly("off");
    await gateway.stop();
  }
});

test("silent connections are replaced by new ones", async () => {
  const before = new Set<Socket>();
  const proxy = await startProxy((socket) => before.add(socket));
  try {
    const url = proxy.through(`${server.tcpUrl()}?query_timeout=500`);
    // Making the tables may take longer than what is silence here.
    await (await open(1, server.tcpUrl()))[0]?.close();
    const store = openStore({ url, log: quietLog() });
    stores.push(store);
    for (const [what, work] of [
      ["a write", () => store.kv.set("n", "k", 1)],
      ["a read", () => store.kv.get("n", "k")],
    ] as const) {
      await until(`${what} before`, async () => work().then(() => true));
      for (const socket of before) socket.unpipe().pause();
      before.clear();
      // several are pooled, each of which is given up by itself
      await until(what, async () => work().then(() => true));
    }
    await until("its health", async () => (await store.health()).ok);
  } finally {
    proxy.close();
  }
});

function latin(): string {
  server.sql("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  return "latin";
}

for (const [what, url, says] of [
  [
    "a wrong password",
    () => server.tcpUrl({ password: "guess" }),
    /refuses the user or its password/,
  ],
  [
    "a user that is not there",
    () => server.tcpUrl({ user: "nobody" }),
    /refuses the user or its password/,
  ],
  [
    "a database that is not there",
    () => server.tcpUrl({ database: "nowhere" }),
    /no database with this name/,
  ],
  [
    "a database that lacks characters",
    () => server.tcpUrl({ database: latin() }),
    /is in LATIN1, which cannot store every character/,
  ],
  [
    "TLS that the server does not have",
    () => `${server.tcpUrl()}?sslmode=verify-full`,
    /TLS failed/,
  ],
  // A name that none can be: known as such also where there is no network to ask.
  [
    "a host that is not there",
    () => "postgres://u:secret-word@host..invalid/db",
    /host name is unknown/,
  ],
  [
    "a port where nobody listens",
    () => "postgres://u:secret-word@127.0.0.1:1/db",
    /no server listens there/,
  ],
  [
    "a time that is none",
    () => `${server.tcpUrl()}?query_timeout=0`,
    /query_timeout must be a number of milliseconds/,
  ],
  [
    "another setting",
    () => `${server.tcpUrl()}?options=-c%20no.such=1%20-c%20nonsense=1`,
    /a setting that the server does not know/,
  ],
  ["no address", () => "postgres://u:secret-word@[/db", /cannot be read as an address/],
] as const) {
  test(`a gateway does not start with ${what} in store.url, and says so without the password`, async () => {
    try {
      await (await startGateway({ config: { store: { url: url() } } })).stop();
    } catch (error) {
      const { message } = error as Error;
      assert.match(message, says);
      assert.not.match(message, /guess|secret-word|correct/);
      return;
    }
    assert.unreachable("it has started");
  });
}

test("a store that a newer version of Portico wrote is refused", async () => {
  const url = server.emptyUrl();
  const [store] = (await open(1, url)) as [Store];
  await store.close();
  const schema = /search_path%3D(\w+)/.exec(url)?.[1];
  server.sql(`UPDATE ${schema}.portico_schema SET version = 9999`);
  const newer = openStore({ url, log: quietLog() });
  await newer.open().then(
    () => assert.unreachable(),
    (error: Error) => assert.match(error.message, /newer version of Portico/),
  );
  await newer.close();
});

test("two gateways share the queue of turns: either runs what one accepts, and both show it", async () => {
  const url = server.tcpUrl();
  const gateways = await Promise.all(
    [1, 2].map(() => startGateway({ config: { store: { url } } })),
  );
  const [a, b] = gateways as [(typeof gateways)[0], (typeof gateways)[0]];
  const { turnId } = await a.json("POST", "/agent", { message: "hello", session: "shared" });
  const done = await until("its end, seen from the other", async () => {
    const turn = await b.json("GET", `/turns/${turnId}`);
    return turn.state === "done" ? turn : undefined;
  });
  assert.is(done.result, "hello");
  assert.is((await b.json("GET", "/store")).engine, "postgresql");
  await Promise.all(gateways.map((gateway) => gateway.stop()));
});

test.run();
