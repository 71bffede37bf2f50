/** Checks a file of the embedded engine, of a stopped gateway or a copy, for damage. */
import { closeSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import {
  NAME_ANOTHER_STORE,
  readContents,
  type Inspection,
  USE_OLDER_COPY,
  findSchemaProblem,
} from "../inspection/inspection.ts";
import { type BackgroundConnection, connectInBackground } from "./connection.ts";
import { getCode, isBusy, describeProblem } from "./failures.ts";
import { findIntegrityProblems, getSizeWithLog } from "./maintenance.ts";
import { findTextProblems } from "./texts.ts";
import type { Operation } from "../sql/operation.ts";

const MAGIC = "SQLite format 3\0";

/** Never rejects: a file that cannot be read is reported as a problem. */
export async function inspectFile(file: string): Promise<Inspection> {
  const complete = (members: Partial<Inspection>): Inspection => ({
    engine: "sqlite",
    rows: {},
    problems: [],
    ...members,
  });
  try {
    const refusal = checkFile(file, statSync(file, { throwIfNoEntry: false }));
    if (refusal) return complete(refusal);
    const hadLog = hasLog(file);
    const report = await readTables(file, hadLog);
    // A gateway has been started with the file in the meantime.
    const isInUse = !hadLog && report.problems?.length !== 0 && hasLog(file);
    return complete({
      bytes: getSizeWithLog(file),
      ...(isInUse ? await readTables(file, true) : report),
    });
  } catch (error) {
    return complete(describeFailure(error));
  }
}

function checkFile(file: string, stats: Stats | undefined): Partial<Inspection> | undefined {
  if (!stats) return { problems: ["there is no such file"], remedy: NAME_ANOTHER_STORE };
  if (!stats.isFile())
    return { problems: ["it is not a regular file"], remedy: NAME_ANOTHER_STORE };
  // An empty file is an empty database, in which a gateway would create a new store.
  if (stats.size === 0) return { problems: ["it is empty"], remedy: USE_OLDER_COPY };
  const head = Buffer.alloc(MAGIC.length);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, head, 0, head.length, 0);
  } finally {
    closeSync(descriptor);
  }
  if (head.toString("latin1") === MAGIC) return undefined;
  return {
    problems: ["it is not a database"],
    remedy: "Decompress the file if it is compressed, or use another file.",
  };
}

/**
 * Reads the tables without changing the file. A file without a log is opened as immutable, because even reading would
 * otherwise create a log. With a log, it reads the log too and leaves it unchanged.
 */
async function readTables(file: string, withLog: boolean): Promise<Partial<Inspection>> {
  const address = `${pathToFileURL(file).href}?${withLog ? "mode=ro" : "immutable=1"}`;
  const connection = await connectInBackground(address);
  try {
    const [row] = await connection.all("PRAGMA user_version");
    const schemaVersion = Number(row?.["user_version"]);
    const damage = await findIntegrityProblems(connection);
    if (damage.length > 0) return { problems: damage, remedy: USE_OLDER_COPY };
    const names = await connection.all("SELECT name FROM sqlite_master WHERE type = 'table'");
    const present = new Set(names.map(({ name }) => String(name)));
    if (present.size === 0 && !withLog)
      return { problems: ["it contains no tables"], remedy: INCOMPLETE_COPY };
    const schemaProblem = findSchemaProblem(present, schemaVersion);
    if (schemaProblem) return { schemaVersion, ...schemaProblem };
    const unreadable = await findTextProblems(connection, schemaVersion);
    if (unreadable.length > 0)
      return { schemaVersion, problems: unreadable, remedy: USE_OLDER_COPY };
    return {
      schemaVersion,
      remedy: ACCEPT_LOSS,
      ...(await perform(connection, readContents(schemaVersion))),
    };
  } catch (error) {
    return describeFailure(error);
  } finally {
    connection.close();
  }
}

async function perform<T>(connection: BackgroundConnection, operation: Operation<T>): Promise<T> {
  let step = operation.next();
  while (!step.done) {
    if (!("sql" in step.value)) throw new Error("an inspection must not take locks");
    const { sql, params } = step.value;
    step = operation.next({ rows: await connection.all(sql, params), changes: 0 });
  }
  return step.value;
}

const INCOMPLETE_COPY =
  "While a gateway runs, the file alone is not a complete copy: its -wal file contains the newest data. Make copies with `portico store backup`.";
const ACCEPT_LOSS = "Use an older copy, or accept that a gateway never processes these items.";

function describeFailure(error: unknown): Partial<Inspection> {
  const { code } = error as { code?: string };
  if (code === "EACCES" || code === "EPERM")
    return {
      problems: ["this user may not read it"],
      remedy: "Run the command as the user who owns the file.",
    };
  if (isBusy(error))
    return { problems: ["another process is writing to it"], remedy: "Try again later." };
  const isDamaged = /^SQLITE_(CORRUPT|NOTADB)/.test(getCode(error));
  const problem =
    describeProblem(error)?.problem ?? (error instanceof Error ? error.message : String(error));
  return {
    problems: [isDamaged ? "it is damaged" : problem],
    remedy: isDamaged ? USE_OLDER_COPY : "Check the disk that contains the file.",
  };
}

function hasLog(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
