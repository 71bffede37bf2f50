/** Migrates the tables. If several gateways start at once, one of them migrates and the others wait for it. */
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { type MigrationPart, migrations } from "../sql/migrations.ts";
import { type Client, SLOW_STATEMENT_MS, WAITING } from "./connection.ts";
import { perform } from "./perform.ts";

const MIN_SERVER_VERSION = 130_000;

/** The encodings that can store every character; SQL_ASCII stores any bytes. */
const ENCODINGS = ["UTF8", "SQL_ASCII"];
const SERVER = `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding`;

export async function migrate(client: Client): Promise<void> {
  const { version, encoding } = (await client.query(SERVER)).rows[0] ?? {};
  if (Number(version) < MIN_SERVER_VERSION)
    throw urlError(`the server is older than PostgreSQL 13 (${String(version)})`);
  if (!ENCODINGS.includes(String(encoding)))
    throw urlError(
      `the database is in ${String(encoding)}, which cannot store every character: create the database with ENCODING 'UTF8'`,
    );
  await client.query("BEGIN");
  try {
    await client.query("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0");
    await querySlowly(
      client,
      "SELECT pg_advisory_xact_lock(hashtextextended('portico:schema:' || current_schema(), 0))",
    );
    await client.query("CREATE TABLE IF NOT EXISTS portico_schema (version INTEGER NOT NULL)");
    const version = await readSchemaVersion(client);
    if (version > migrations.length)
      throw urlError(
        `it was written by a newer version of Portico (its schema is ${version}, but this version knows only schemas up to ${migrations.length}). Update Portico`,
      );
    for (const parts of migrations.slice(version)) await applyMigration(client, parts);
    if (version === 0) await client.query("INSERT INTO portico_schema (version) VALUES (0)");
    if (version < migrations.length)
      await client.query(`UPDATE portico_schema SET version = ${migrations.length}`);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

export async function readSchemaVersion(client: Client): Promise<number> {
  const [row] = (await client.query("SELECT MAX(version) AS version FROM portico_schema")).rows;
  return Number(row?.["version"] ?? 0);
}

async function applyMigration(client: Client, parts: readonly MigrationPart[]): Promise<void> {
  const replaced = findReplacedTables(parts);
  if (replaced.length > 0) await querySlowly(client, `LOCK TABLE ${replaced.join(", ")}`);
  for (const part of parts) {
    if (typeof part === "string") await querySlowly(client, toPostgres(part));
    else await perform(client, part());
  }
}

async function querySlowly(client: Client, text: string): Promise<void> {
  await client.query({ text, query_timeout: SLOW_STATEMENT_MS });
}

/**
 * Returns the tables that a migration drops after it has copied their rows. They are locked first, because a row that another
 * gateway writes between the copy and the drop would be lost.
 */
function findReplacedTables(parts: readonly MigrationPart[]): string[] {
  return parts.flatMap((part) => {
    const table = typeof part === "string" ? /^DROP TABLE (\w+)$/.exec(part)?.[1] : undefined;
    return table ?? [];
  });
}

/** Makes fencing tokens continue after those of the counter, which SQLite uses and earlier versions used here too. */
export const SET_TOKENS = `SELECT setval('lane_tokens', value + 1, false) FROM counters WHERE name = 'token'`;

/** Translates a statement. Texts are compared byte by byte as in SQLite, since ranges of keys and their order depend on it. */
function toPostgres(sql: string): string {
  return sql
    .replace("{token sequence}", `CREATE SEQUENCE lane_tokens; ${SET_TOKENS}`)
    .replace("{serial}", "BIGSERIAL PRIMARY KEY")
    .replace("{waiting}", WAITING)
    .replace(/ TEXT\b/g, ' TEXT COLLATE "C"');
}

function urlError(why: string): PorticoError {
  return errors.badUrl({ reason: why }, { param: "store.url" });
}
