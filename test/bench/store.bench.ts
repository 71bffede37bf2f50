/**
 * Compares durable enqueues of many callers with bare inserts: in SQLite, with one transaction for all waiting inserts; in
 * PostgreSQL, with prepared statements over the same number of connections. PostgreSQL is also measured without syncs,
 * because the gain from shared syncs, and so the ratio, depends on the disk.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { openStore } from "../../plugins/store/open.ts";
import type { Store } from "../../plugins/store/types.ts";
import { packageDir } from "../support/gateway.ts";
import { startPostgres } from "../support/machine/postgres.ts";
import { quietLog } from "../support/quiet-log.ts";
import { temporaryDir } from "../support/temporary.ts";
import { median, ratios } from "./harness/measure.ts";
import type { Bench, Figure } from "./run.ts";

const CALLERS = 64;
const ROUNDS = 15;
const ROUND_MS = 400;
/** The same number of connections as a gateway has. */
const CONNECTIONS = 10;
const TEXT = "a wake of an ordinary size, with some words in it";

type Call = () => Promise<unknown>;

const require = createRequire(join(packageDir, "package.json"));
interface BarePool {
  query(
    query: string | { name: string; text: string; values: readonly string[] },
  ): Promise<unknown>;
  on(event: "error", listener: () => void): void;
  end(): Promise<void>;
}
const { Pool } = require("pg") as {
  Pool: new (options: { connectionString: string; max: number }) => BarePool;
};

export default async function bench(): Promise<Bench> {
  return {
    name: "store",
    figures: [...(await embedded()), ...(await distributed("on")), ...(await distributed("off"))],
  };
}

async function embedded(): Promise<Figure[]> {
  const dir = temporaryDir("portico-bench-");
  const store = openStore({ url: `file:${join(dir, "bench.db")}`, log: quietLog() });
  await store.open();
  const bare = bareSqlite(join(dir, "bare.db"));
  const file = openSync(join(dir, "single"), "w");
  const single = async () => {
    writeSync(file, `${TEXT}\n`);
    fdatasyncSync(file);
    await new Promise(setImmediate);
  };
  const rates = await measureInTurns({
    ours: enqueues(store),
    bare,
    oneLane: enqueues(store, "one"),
  });
  // measured alone, because the next commit would have to sync their writes
  const { limits } = await measureInTurns({ limits: () => store.take("bench", 1, 1e9, 60_000) });
  const lone = await measureInTurns({ ours: enqueues(store, "lone"), bare, single }, 1);
  await store.enqueue({
    items: Array.from({ length: 100_000 }, (_, n) => item(`b${n}`, `lane${n}`)),
  });
  const began = performance.now();
  for (let n = 0; n < 50; n++) {
    const [claim] = await store.claim("bench", 1, 30_000, ["turn"]);
    if (claim) await store.finish(claim, { state: "done" });
  }
  const claimMs = (performance.now() - began) / 50;
  await store.close();
  closeSync(file);
  return [
    { what: "SQLite, 1 caller: durable enqueue", value: median(lone.ours), unit: "items/s" },
    {
      what: "SQLite, 1 caller",
      ...ratios(lone.ours, lone.single),
      unit: "×",
      ratioTo: "an append and its sync",
      limit: 0.8,
      bound: "min",
    },
    {
      what: "SQLite, 1 caller",
      ...ratios(lone.ours, lone.bare),
      unit: "×",
      ratioTo: "a bare insert",
      limit: 0.8,
      bound: "min",
    },
    {
      what: `SQLite, ${CALLERS} callers: durable enqueue`,
      value: median(rates.ours),
      unit: "items/s",
    },
    {
      what: `SQLite, ${CALLERS} callers`,
      ...ratios(rates.ours, rates.bare),
      unit: "×",
      ratioTo: "bare inserts, one transaction for all that wait",
    },
    {
      what: `SQLite, ${CALLERS} callers: into one lane`,
      value: median(rates.oneLane),
      unit: "items/s",
    },
    { what: `SQLite, ${CALLERS} callers: rate limit`, value: median(limits), unit: "calls/s" },
    {
      what: "SQLite: claim and finish among 100,000 queued",
      value: claimMs,
      unit: "ms",
      limit: 10,
    },
  ];
}

async function distributed(fsync: "on" | "off"): Promise<Figure[]> {
  const server = await startPostgres({ settings: [`fsync=${fsync}`] });
  const url = server.emptyUrl();
  const store = openStore({ url, log: quietLog() });
  await store.open();
  const pool = new Pool({ connectionString: url, max: CONNECTIONS });
  pool.on("error", () => {}); // connections that end with the server emit errors
  try {
    await pool.query("CREATE TABLE bare (id TEXT PRIMARY KEY, lane TEXT, kind TEXT, body TEXT)");
    let n = 0;
    const text = "INSERT INTO bare (id, lane, kind, body) VALUES ($1, $2, $3, $4)";
    const bare = () => {
      const { id, lane, kind, body } = item(`p${n++}`, `l${n % CALLERS}`);
      return pool.query({ name: "bare", text, values: [id, lane, kind, JSON.stringify(body)] });
    };
    const { ours, bare: theirs } = await measureInTurns({ ours: enqueues(store), bare });
    const where = `PostgreSQL, ${CALLERS} callers${fsync === "off" ? ", no syncs" : ""}`;
    return [
      { what: `${where}: durable enqueue`, value: median(ours), unit: "items/s" },
      {
        what: where,
        ...ratios(ours, theirs),
        unit: "×",
        ratioTo: `prepared inserts, ${CONNECTIONS} connections`,
        ...(fsync === "on" && { limit: 0.8, bound: "min" }),
      },
    ];
  } finally {
    await pool.end();
    await store.close();
    await server.stop();
  }
}

function item(id: string, lane: string) {
  return { id, lane, kind: "turn", body: { text: TEXT } };
}

let itemCount = 0;
function enqueues(store: Store, lane?: string): Call {
  return () =>
    store.enqueue({ items: [item(`i${itemCount++}`, lane ?? `l${itemCount % CALLERS}`)] });
}

function bareSqlite(file: string): Call {
  const Database = require("libsql");
  const db = new Database(file);
  db.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE bare (id TEXT PRIMARY KEY, lane TEXT, kind TEXT, body TEXT)",
  );
  const insert = db.prepare("INSERT INTO bare (id, lane, kind, body) VALUES (?, ?, ?, ?)");
  let waiting: (() => void)[] = [];
  function flush(): void {
    const batch = waiting;
    waiting = [];
    db.exec("BEGIN");
    for (const _ of batch) {
      const { id, lane, kind, body } = item(`s${itemCount++}`, `l${itemCount % CALLERS}`);
      insert.run([id, lane, kind, JSON.stringify(body)]);
    }
    db.exec("COMMIT");
    for (const resolve of batch) resolve();
  }
  return () =>
    new Promise<void>((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(flush);
    });
}

/** Returns the calls per second of each, in short alternating rounds. The first round is a warm-up. */
async function measureInTurns<K extends string>(
  calls: Record<K, Call>,
  callers = CALLERS,
): Promise<Record<K, number[]>> {
  const names = Object.keys(calls) as K[];
  const rates = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<
    K,
    number[]
  >;
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of names) {
      const rate = await callsPerSecond(calls[name], callers);
      if (round > 0) rates[name].push(rate);
    }
  }
  return rates;
}

async function callsPerSecond(call: Call, callers: number): Promise<number> {
  const began = performance.now();
  let calls = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (; performance.now() - began < ROUND_MS; calls++) await call();
    }),
  );
  return (calls / (performance.now() - began)) * 1000;
}
