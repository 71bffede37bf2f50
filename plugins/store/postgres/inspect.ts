/** Checks a database that may hold a store. */
import { readContents, type Inspection, findSchemaProblem } from "../inspection/inspection.ts";
import { type Client, openPool, SLOW_STATEMENT_MS } from "./connection.ts";
import { describeProblem } from "./failures.ts";
import { readSchemaVersion } from "./migrate.ts";
import { perform } from "./perform.ts";

/** Rejects only if the address is invalid or the package `pg` is missing. */
export async function inspectDatabase(url: string): Promise<Inspection> {
  const complete = (members: Partial<Inspection>): Inspection => ({
    engine: "postgresql",
    rows: {},
    problems: [],
    ...members,
  });
  // Counting the rows can take long.
  const pool = await openPool(url, { statementTimeoutMs: SLOW_STATEMENT_MS });
  try {
    const client = await pool.connect();
    try {
      await client.query("SET default_transaction_read_only = on");
      return complete(await readDatabase(client));
    } finally {
      client.release();
    }
  } catch (error) {
    const problem =
      describeProblem(error) ??
      "the address cannot be read (postgres://user:password@host:port/database)";
    return complete({ problems: [problem], remedy: "Check the server, or use another database." });
  } finally {
    await pool.end();
  }
}

async function readDatabase(client: Client): Promise<Partial<Inspection>> {
  const { rows } = await client.query(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
  );
  const present = new Set(rows.map(({ name }) => String(name)));
  const version = present.has("portico_schema") ? await readSchemaVersion(client) : 0;
  const schemaProblem = findSchemaProblem(present, version);
  if (schemaProblem) return { schemaVersion: version, ...schemaProblem };
  const size = await client.query("SELECT pg_database_size(current_database()) AS bytes");
  const invalid = await findInvalidIndexes(client);
  const content = await perform(client, readContents(version));
  return {
    bytes: Number(size.rows[0]?.["bytes"]),
    schemaVersion: version,
    rows: content.rows,
    problems: [...invalid, ...content.problems],
    remedy: content.remedy ?? "Check the log of the server, or restore an earlier copy.",
  };
}

export async function findInvalidIndexes(client: Client): Promise<string[]> {
  const { rows } = await client.query(
    `SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND NOT i.indisvalid`,
  );
  return rows.map(
    ({ name }) => `the index ${String(name)} is not valid: REINDEX INDEX ${String(name)}`,
  );
}
