/** Connections to the server. This is the only importer of `pg`. */
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
  /** Replaces the timeout of the pool, in milliseconds. */
  query_timeout?: number | undefined;
}
/** The part of pg's interface that the store uses. */
export interface Client {
  query(query: string | QueryConfig): Promise<QueryResult>;
  on(event: "error" | "end", listener: (error?: Error) => void): void;
  on(event: "notification", listener: (message: { payload?: string }) => void): void;
  /** Returns the connection to the pool, which closes it if there is an error. */
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
/** Parses numbers as doubles, which are exact for the times and counts of a store. */
const types = {
  getTypeParser: (oid: number) =>
    oid === INT8 || oid === NUMERIC ? Number : (text: string) => parseOther(oid, text),
};
const parseOther = (oid: number, text: string): unknown => (NUMBERS.has(oid) ? Number(text) : text);
/** The types int2, int4, float4 and float8. */
const NUMBERS = new Set([21, 23, 700, 701]);

const CONNECT_MS = 5000;
/** The server ends a statement that takes too long. If it does not respond for this much longer, it counts as lost. */
const RESPONSE_GRACE_MS = 1000;
/** The timeout of statements that take long on a large store, after another one has shown that the server responds. */
export const SLOW_STATEMENT_MS = 600_000;
/** A transaction that waits for a lock this long rolls back and starts again, so that it does not hold up others. */
const LOCK_MS = 1000;
/** A gateway that pauses within a transaction, as on a suspended machine, loses it, so that no other gateway waits for it. */
const IDLE_MS = 4000;

export const DEFAULT_POOL = 10;
export const DEFAULT_STATEMENT_MS = 10_000;

export interface PoolOptions {
  /** The largest number of connections. */
  size?: number | undefined;
  /** The timeout of a statement. */
  statementTimeoutMs?: number | undefined;
}

export async function openPool(
  url: string,
  { size = DEFAULT_POOL, statementTimeoutMs = DEFAULT_STATEMENT_MS }: PoolOptions = {},
): Promise<Pool> {
  const { Pool: Pg, Client: PgClient } = await importPg();
  /** Closes a connection that the driver could not set up, as without a password; the driver would leave it open. */
  class ClosingClient extends PgClient {
    override connect(callback: (error?: Error) => void): void {
      super.connect((error) => {
        if (error) this.connection.stream.destroy();
        callback(error);
      });
    }
  }
  const pg = new Pg({
    Client: ClosingClient,
    connectionString: validateUrl(url),
    max: size,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: statementTimeoutMs + RESPONSE_GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: CONNECT_MS,
    application_name: "portico",
    types,
  });
  // Callers see the error of their query, and the pool replaces an idle connection at its next use. Without these listeners,
  // the same error would end the process.
  pg.on("error", () => {});
  pg.on("connect", (client) => client.on("error", () => {}));
  return withSettings(pg, statementTimeoutMs);
}

/** Wraps the pool so that its connections have the store's settings. Poolers refuse them as start-up parameters. */
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

/** Throws for mistakes that the driver would report at each connection as if the server did not respond. */
function validateUrl(url: string): string {
  const query = new URLSearchParams(url.slice(url.indexOf("?") + 1));
  const urlError = (why: string, cause?: unknown) =>
    errors.badUrl({ reason: why }, { param: "store.url", cause });
  for (const name of ["sslrootcert", "sslcert", "sslkey"]) {
    const file = query.get(name);
    try {
      if (file !== null) accessSync(file, constants.R_OK);
    } catch (error) {
      throw urlError(`${name} cannot be read`, error);
    }
  }
  for (const value of query.getAll("query_timeout"))
    if (!/^[1-9]\d{0,8}$/.test(value))
      throw urlError("query_timeout must be a number of milliseconds above 0");
  // The driver treats these modes as verify-full too, but warns that this may change.
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

/** Runs one statement that may take long, outside of a transaction. */
export async function runSlowStatement(client: Client, text: string): Promise<QueryResult> {
  const [row] = (await client.query("SHOW statement_timeout")).rows;
  await client.query(`SET statement_timeout = ${SLOW_STATEMENT_MS}`);
  try {
    return await client.query({ text, query_timeout: SLOW_STATEMENT_MS });
  } finally {
    await client.query(`SET statement_timeout = '${row?.["statement_timeout"]}'`);
  }
}

/**
 * An index has exactly this expression. With a plain column, the planner may choose another index and read all waiting items
 * as long as it has no statistics, for example after a sudden backlog.
 */
export const WAITING = "(state || '') = 'queued'";

const statements = new Map<string, { text: string; name: string }>();

/** Translates placeholders and our words. The name makes each connection prepare a statement only once. */
function getStatement(sql: string): { text: string; name: string } {
  const cached = statements.get(sql);
  if (cached) return cached;
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
  const { sql, params, hasFractions, isSlow } = query;
  const texts = withoutNul(params);
  const values = hasFractions ? texts : texts.map(roundNumber);
  if (isSlow) await client.query(`SET LOCAL statement_timeout = ${SLOW_STATEMENT_MS}`);
  const query_timeout = isSlow ? SLOW_STATEMENT_MS : undefined;
  const { rows, rowCount } = await client.query({ ...getStatement(sql), values, query_timeout });
  return { rows: withNul(rows), changes: rowCount ?? 0 };
}

/** Rounds numbers, since computed times may have fractions but columns of times accept none. */
function roundNumber(param: Param): Param {
  return typeof param === "number" && !Number.isInteger(param) ? Math.round(param) : param;
}
