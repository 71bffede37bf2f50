/** The inspection of a store without a gateway, which changes nothing in the store. */
import { findQueueProblems } from "../operations/queue-views.ts";
import { migrations } from "../sql/migrations.ts";
import type { Operation } from "../sql/operation.ts";
import { INCOMPLETE_REMEDY, INCOMPLETE_PROBLEM, readCopyMark } from "../sql/incomplete-copy.ts";
import { first } from "../sql/query.ts";
import { readTablesAt } from "../transfer/tables.ts";

export interface Inspection {
  engine: "sqlite" | "postgresql";
  bytes?: number;
  schemaVersion?: number;
  /** The number of records in each table that is not empty. A row of deliveries may hold several records. */
  rows: Record<string, number>;
  /** The problems in plain words; empty for a sound store. */
  problems: string[];
  /** How to solve the problems, in full sentences. */
  remedy?: string;
}

/** Returns the problem with the tables of a store, or `undefined` if this version of Portico can use them. */
export function findSchemaProblem(present: ReadonlySet<string>, version: number) {
  const expected = readTablesAt(version).map(({ name }) => name);
  const missing = expected.filter((name) => !present.has(name));
  if (version < 1 || missing.length > expected.length / 2)
    return {
      problems: ["it is a database, but not the store of a gateway"],
      remedy: NAME_ANOTHER_STORE,
    };
  if (version > migrations.length) {
    const problem = `it was written by a newer version of Portico (its schema is ${version}, but this version knows only schemas up to ${migrations.length})`;
    return {
      problems: [problem],
      remedy: "Update Portico before you start a gateway with this store.",
    };
  }
  if (missing.length === 0) return undefined;
  return {
    problems: missing.map((name) => `its table ${name} is missing`),
    remedy: USE_OLDER_COPY,
  };
}

/** Counts the rows of a store, and finds contradictions among them. */
export function* readContents(
  version: number,
): Operation<Pick<Inspection, "rows" | "problems" | "remedy">> {
  const rows: Inspection["rows"] = {};
  for (const { name, columns } of readTablesAt(version)) {
    const count =
      name === "deliveries" && columns.includes("size") ? "COALESCE(SUM(size), 0)" : "COUNT(*)";
    const row = yield* first<{ n: number }>(`SELECT ${count} AS n FROM ${name}`);
    if (row && Number(row.n) > 0) rows[name] = Number(row.n);
  }
  if ((yield* readCopyMark()) !== undefined)
    return { rows, problems: [INCOMPLETE_PROBLEM], remedy: INCOMPLETE_REMEDY };
  return { rows, problems: yield* findQueueProblems() };
}

export const NAME_ANOTHER_STORE = "Choose another store.";
export const USE_OLDER_COPY = "Use an older copy.";
export const RESTORE =
  "Stop the gateway, move the store away, and put the last copy from <home>/state/backups in its place.";
