/** Connections to the server. The only importer of `pg`. */
import { accessSync, constants } from "node:fs";
import type { Socket } from "node:net";
import { PorticoError } from "portico";
import type { Param, Query, Result } from "../sql/operation.ts";
import { withNul, withoutNul } from "../sql/query.ts";

interface QueryResult {
  rows: Record<string, unknown>[];
  rowCount: number | null;
}
interface QueryConfig {
  text: string;
  name?: string;
  values?: readonly (string | number | null)[];
  /** In the place of `ANSWER_MS`. */
  query_timeout?: number | undefined;
}
/** The part of pg's interface that is used. */
export interface Client {
  query(query: string | QueryConfig): Promise<QueryResult>;
  on(event: "error" | "end", listener: (error?: Error) => void): void;
  on(event: "notification", listener: (message: { payload?: string }) => void): void;
  /** With an error: it is not used again. */
  release(error?: Error): void;
}
export interface Pool {
  connect(): Promise<Client>;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "connect", listener: (client: Client) => void): void;
  end(): Promise<void>;
}
interface Driver {
  Pool: new (options: object) => Pool;
  Client: new (
    options: object,
  ) => { connect(told: (error?: Error) => void): void; connection: { stream: Socket } };
}

const INT8 = 20;
const NUMERIC = 1700;
/** Numbers of a store are times and counts: they fit into a double. */
const types = {
  getTypeParser: (oid: number) =>
    oid === INT8 || oid === NUMERIC ? Number : (text: string) => parseOther(oid, text),
};
const parseOther = (oid: number, text: string): unknown => (NUMBERS.has(oid) ? Number(text) : text);
/** int2, int4, float4, float8. */
const NUMBERS = new Set([21, 23, 700, 701]);

const CONNECT_MS = 5000;
/**
 * A server that is silent this long is gone without a farewell (it stands still, a firewall has forgotten the connection):
 * the connection is given up. An address may say otherwise: `?query_timeout=30000`.
 */
const ANSWER_MS = 10_000;
/** For what takes its time on a large store; not a first statement: that has found the server awake. */
export const PATIENT_MS = 600_000;
const MOST_CONNECTIONS = 10;
/** A lock that is waited for this long may be part of a circle: everything is undone and tried anew. */
const LOCK_MS = 1000;
/** A gateway that sleeps within a transaction (a paused machine) loses it, so that nobody waits for it. */
const IDLE_MS = 15_000;
const SETTINGS = `SET lock_timeout = ${LOCK_MS}; SET idle_in_transaction_session_timeout = ${IDLE_MS}`;

export async function openPool(url: string, answerMs = ANSWER_MS): Promise<Pool> {
  const { Pool: Pg, Client: PgClient } = await importPg();
  /** The driver leaves a connection open where it cannot go on by itself, as without a password: until the server ends it. */
  class Connecting extends PgClient {
    override connect(told: (error?: Error) => void): void {
      super.connect((error) => {
        if (error) this.connection.stream.destroy();
        told(error);
      });
    }
  }
  const pool = new Pg({
    Client: Connecting,
    connectionString: checked(url),
    max: MOST_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: answerMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: ANSWER_MS,
    application_name: "portico",
    types,
  });
  // what runs on a connection hears of its end too; without a listener this would end the process
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** Throws for what the driver would say at each connection, as if the server were not there, or silent. */
function checked(url: string): string {
  const query = new URLSearchParams(url.slice(url.indexOf("?") + 1));
  const wrong = (why: string, cause?: unknown) =>
    new PorticoError("config_error", `store.url is no place for the store: ${why}.`, {
      param: "store.url",
      cause,
    });
  for (const name of ["sslrootcert", "sslcert", "sslkey"]) {
    const file = query.get(name);
    try {
      if (file !== null) accessSync(file, constants.R_OK);
    } catch (error) {
      throw wrong(`${name} cannot be read`, error);
    }
  }
  for (const value of query.getAll("query_timeout"))
    if (!/^[1-9]\d{0,8}$/.test(value))
      throw wrong("query_timeout is no number of milliseconds above 0");
  // the driver checks as much for these names too, and warns that it may not always do so
  return url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}

async function importPg(): Promise<Driver> {
  const name = "pg";
  try {
    return ((await import(name)) as { default: Driver }).default;
  } catch (error) {
    throw new PorticoError(
      "config_error",
      "store.url names PostgreSQL, which needs the package pg: npm install pg",
      {
        param: "store.url",
        cause: error,
      },
    );
  }
}

const prepared = new WeakSet<Client>();

/** A connection of the pool with the store's settings. */
export async function connect(pool: Pool): Promise<Client> {
  const client = await pool.connect();
  if (prepared.has(client)) return client;
  try {
    await client.query(SETTINGS);
  } catch (error) {
    client.release(error as Error);
    throw error;
  }
  prepared.add(client);
  return client;
}

/**
 * An index is for this very expression: while the planner knows little of the table, as when a backlog has just come, it
 * would take another one that looks as good, and read all that waits.
 */
export const WAITING = "(state || '') = 'queued'";

const statements = new Map<string, { text: string; name: string }>();

/** `?` and `?1` → `$1`, the words for locks, and a name: each connection prepares a statement once. */
function statementOf(sql: string): { text: string; name: string } {
  let known = statements.get(sql);
  if (!known) {
    let n = 0;
    const text = sql
      .replace("{lock}", "FOR UPDATE SKIP LOCKED")
      .replace("{hold}", "FOR UPDATE")
      .replaceAll("{waiting}", WAITING)
      .replace(/\?(\d*)/g, (_, number) => `$${number || ++n}`);
    known = { text, name: `s${statements.size}` };
    statements.set(sql, known);
  }
  return known;
}

export async function execute(client: Client, { sql, params, fractions }: Query): Promise<Result> {
  const texts = withoutNul(params);
  const values = fractions ? texts : texts.map(whole);
  const query_timeout = sql.startsWith("DELETE") ? PATIENT_MS : undefined;
  const { rows, rowCount } = await client.query({ ...statementOf(sql), values, query_timeout });
  return { rows: withNul(rows), changes: rowCount ?? 0 };
}

/** Times may be computed with fractions, and columns of times take none. */
function whole(param: Param): Param {
  return typeof param === "number" && !Number.isInteger(param) ? Math.round(param) : param;
}
