/** Connections to the server. The only importer of `pg`. */
import { accessSync, constants } from "node:fs";
import type { Socket } from "node:net";
import { errors } from "../errors.ts";
import type { Param, Query, Result } from "../sql/operation.ts";
import { withNul, withoutNul } from "../sql/query.ts";

interface QueryResult {
  rows: Record<string, unknown>[];
  rowCount: number | null;
}
interface QueryConfig {
  text: string;
  name?: string;
  values?: readonly (string | number | null | readonly string[])[];
  /** In place of the pool's own. */
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
  end(): Promise<void>;
}
interface DriverPool extends Pool {
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "connect", listener: (client: Client) => void): void;
}
interface Driver {
  Pool: new (options: object) => DriverPool;
  Client: new (
    options: object,
  ) => { connect(callback: (error?: Error) => void): void; connection: { stream: Socket } };
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
/** The server itself ends a statement that takes too long. A server that is silent for this much longer counts as lost. */
const SILENCE_MS = 1000;
/** For statements that take their time on a large store, once a first one has found the server awake. */
export const PATIENT_MS = 600_000;
/** A transaction that waits for a lock this long rolls back and starts again, so that it does not hold up others. */
const LOCK_MS = 1000;
/** A gateway that sleeps within a transaction (a paused machine) loses it, so that no other gateway waits for it. */
const IDLE_MS = 4000;

export const DEFAULT_POOL = 10;
export const DEFAULT_STATEMENT_MS = 10_000;

export interface PoolOptions {
  /** How many connections at most. */
  size?: number | undefined;
  /** How long a statement may take. */
  statementTimeoutMs?: number | undefined;
}

export async function openPool(
  url: string,
  { size = DEFAULT_POOL, statementTimeoutMs = DEFAULT_STATEMENT_MS }: PoolOptions = {},
): Promise<Pool> {
  const { Pool: Pg, Client: PgClient } = await importPg();
  /** The driver leaves a connection open where it cannot go on by itself, as without a password: until the server ends it. */
  class Connecting extends PgClient {
    override connect(callback: (error?: Error) => void): void {
      super.connect((error) => {
        if (error) this.connection.stream.destroy();
        callback(error);
      });
    }
  }
  const pg = new Pg({
    Client: Connecting,
    connectionString: checked(url),
    max: size,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: statementTimeoutMs + SILENCE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: CONNECT_MS,
    application_name: "portico",
    types,
  });
  // Whoever uses a connection receives the same error from its query, and an idle connection is replaced at its next use.
  // Without these listeners an error would end the process.
  pg.on("error", () => {});
  pg.on("connect", (client) => client.on("error", () => {}));
  return withSettings(pg, statementTimeoutMs);
}

/** A pool whose connections have the store's settings. They are no parameters of the start, which poolers refuse. */
function withSettings(pg: Pool, statementTimeoutMs: number): Pool {
  const settings = `SET lock_timeout = ${LOCK_MS};
    SET idle_in_transaction_session_timeout = ${IDLE_MS};
    SET statement_timeout = ${statementTimeoutMs}`;
  const prepared = new WeakSet<Client>();
  return {
    async connect() {
      const client = await pg.connect();
      if (prepared.has(client)) return client;
      try {
        await client.query(settings);
      } catch (error) {
        client.release(error as Error);
        throw error;
      }
      prepared.add(client);
      return client;
    },
    on: (event: "error", listener: (error: Error) => void) => pg.on(event, listener),
    end: () => pg.end(),
  };
}

/** Throws for what the driver would say at each connection, as if the server were not there, or silent. */
function checked(url: string): string {
  const query = new URLSearchParams(url.slice(url.indexOf("?") + 1));
  const wrong = (why: string, cause?: unknown) =>
    errors.badUrl({ reason: why }, { param: "store.url", cause });
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
      throw wrong("query_timeout must be a number of milliseconds above 0");
  // the driver checks as much for these names too, and warns that it may not always do so
  return url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}

async function importPg(): Promise<Driver> {
  const name = "pg";
  try {
    return ((await import(name)) as { default: Driver }).default;
  } catch (error) {
    throw errors.driverMissing({ param: "store.url", cause: error });
  }
}

/** Runs one statement that takes as long as it needs, outside of a transaction. */
export async function queryPatiently(client: Client, text: string): Promise<QueryResult> {
  const [row] = (await client.query("SHOW statement_timeout")).rows;
  await client.query(`SET statement_timeout = ${PATIENT_MS}`);
  try {
    return await client.query({ text, query_timeout: PATIENT_MS });
  } finally {
    await client.query(`SET statement_timeout = '${row?.["statement_timeout"]}'`);
  }
}

/**
 * An index is for this very expression: while the planner knows little of the table, as when a backlog has just come, it
 * would take another one that looks as good, and read all that waits.
 */
export const WAITING = "(state || '') = 'queued'";

const statements = new Map<string, { text: string; name: string }>();

/** Placeholders become `$1`, and words of ours the server's. The name lets each connection prepare a statement once. */
function statementOf(sql: string): { text: string; name: string } {
  const known = statements.get(sql);
  if (known) return known;
  let n = 0;
  const text = sql
    .replaceAll("{skip}", "FOR UPDATE SKIP LOCKED")
    .replaceAll("{waiting}", WAITING)
    .replaceAll("?", () => `$${++n}`);
  const statement = { text, name: `s${statements.size}` };
  statements.set(sql, statement);
  return statement;
}

export async function execute(client: Client, query: Query): Promise<Result> {
  const { sql, params, fractions, patient } = query;
  const texts = withoutNul(params);
  const values = fractions ? texts : texts.map(whole);
  if (patient) await client.query(`SET LOCAL statement_timeout = ${PATIENT_MS}`);
  const query_timeout = patient ? PATIENT_MS : undefined;
  const { rows, rowCount } = await client.query({ ...statementOf(sql), values, query_timeout });
  return { rows: withNul(rows), changes: rowCount ?? 0 };
}

/** Times may be computed with fractions, and columns of times take none. */
function whole(param: Param): Param {
  return typeof param === "number" && !Number.isInteger(param) ? Math.round(param) : param;
}
