/** What is found in a store that no gateway of ours has open. Looking changes nothing in it. */
import { queueProblems } from "../operations/queue-views.ts";
import { migrations } from "../sql/migrations.ts";
import type { Operation } from "../sql/operation.ts";
import { COMPLETE_PART, PART, partMark } from "../sql/part.ts";
import { first } from "../sql/query.ts";
import { tablesOf } from "../transfer/tables.ts";

export interface Inspection {
  engine: "sqlite" | "postgresql";
  bytes?: number;
  schemaVersion?: number;
  /** What each table holds, where it holds any: a row of deliveries may hold several. */
  rows: Record<string, number>;
  /** None: it is sound. */
  problems: string[];
  /** What to do about them. */
  mend?: string;
}

/** Whether this portico knows these tables; `undefined` where it does. */
export function strangeness(present: ReadonlySet<string>, version: number) {
  const expected = tablesOf(version).map(({ name }) => name);
  const missing = expected.filter((name) => !present.has(name));
  if (version < 1 || missing.length > expected.length / 2)
    return { problems: ["it is a database, but not the store of a gateway"], mend: ANOTHER };
  if (version > migrations.length) {
    const problem = `it was written by a newer portico (schema ${version}, known here: ${migrations.length})`;
    return { problems: [problem], mend: "update portico before you start a gateway with it" };
  }
  if (missing.length === 0) return undefined;
  return { problems: missing.map((name) => `its table ${name} is missing`), mend: OLDER };
}

/** Its rows, and contradictions among them. */
export function* contents(
  version: number,
): Operation<Pick<Inspection, "rows" | "problems" | "mend">> {
  const rows: Inspection["rows"] = {};
  for (const { name, columns } of tablesOf(version)) {
    const count =
      name === "deliveries" && columns.includes("size") ? "COALESCE(SUM(size), 0)" : "COUNT(*)";
    const counted = yield* first<{ n: number }>(`SELECT ${count} AS n FROM ${name}`);
    if (counted && Number(counted.n) > 0) rows[name] = Number(counted.n);
  }
  if ((yield* partMark()) !== undefined) return { rows, problems: [PART], mend: COMPLETE_PART };
  return { rows, problems: yield* queueProblems() };
}

export const ANOTHER = "name another one";
export const OLDER = "use an older copy";
export const RESTORE =
  "move it away while no gateway is running, and start with the last copy in <home>/state/backups";
