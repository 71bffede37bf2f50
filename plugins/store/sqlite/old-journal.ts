/**
 * Earlier versions wrote accepted batches to a journal, the file `portico.db-accepted`, and added them to the tables a
 * moment later. After a crash of such a version, the journal may still hold entries. Opening the store adds them to the
 * tables and removes the file. This version never writes it.
 */
import { existsSync, readFileSync, unlinkSync } from "node:fs";
import { crc32 } from "node:zlib";
import type { Logger } from "portico";
import { addBatch, collectEnqueueLocks, type NewBatch } from "../operations/enqueue.ts";
import { rememberKey } from "../operations/dedup-keys.ts";
import { takeFrom } from "../operations/limits.ts";
import type { Transaction, Write } from "../sql/operation.ts";
import { performEach } from "./batch.ts";
import type { Connection } from "./connection.ts";

/** The header of an entry: the length of its text, a checksum of the rest, and its number. */
const HEADER_BYTES = 16;
/** The name of the counter that holds the number of the newest entry in the tables. */
const COUNTER = "journal";

interface Entry {
  number: number;
  text: string;
}

export function recoverOldJournal(connection: Connection, storeFile: string, log: Logger): void {
  const path = `${storeFile}-accepted`;
  if (!existsSync(path)) return;
  connection.setSynchronous("FULL");
  connection.exec("BEGIN IMMEDIATE");
  try {
    const newestWritten = readNewestNumber(connection);
    const entries = readEntries(readFileSync(path)).filter(({ number }) => number > newestWritten);
    for (const entry of entries) addEntry(connection, entry, log);
    const newest = entries.at(-1)?.number ?? newestWritten;
    connection.once(
      `INSERT INTO counters (name, value) VALUES (?, ?)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      COUNTER,
      newest,
    );
    connection.exec("COMMIT");
    log.info(
      { entries: entries.length },
      "store: the entries of an old journal were moved into the tables",
    );
  } catch (error) {
    if (connection.inTransaction) connection.exec("ROLLBACK");
    throw error;
  }
  unlinkSync(path);
}

function readNewestNumber(connection: Connection): number {
  const [row] = connection.once("SELECT value FROM counters WHERE name = ?", COUNTER);
  return Number(row?.["value"] ?? 0);
}

/** Adds an entry. It logs and skips one that cannot be written, so that the store can still be opened. */
function addEntry(connection: Connection, { number, text }: Entry, log: Logger): void {
  const { now, entry } = JSON.parse(text) as { now: number; entry: NewBatch };
  const reject = (error: unknown): void => {
    log.error({ err: error, number }, "store: an entry of an old journal cannot be written");
  };
  performEach(
    connection,
    [{ write: addAccepted(entry), resolve: () => {}, reject }],
    () => now,
  ).settle();
}

/** Adds a batch that was already accepted, so that neither its key nor its limit can refuse it. */
function addAccepted(batch: NewBatch): Write<void> {
  return {
    locks: collectEnqueueLocks(batch),
    *run(tx: Transaction) {
      if (batch.limit) yield* takeFrom(tx, batch.limit, 1);
      if (batch.dedup) rememberKey(tx, batch.dedup);
      yield* addBatch(tx, batch);
    },
  };
}

/** Returns the entries in order, up to one that a crash has cut off or that remains from an earlier use of the file. */
function readEntries(bytes: Buffer): Entry[] {
  const entries: Entry[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const end = at + HEADER_BYTES + bytes.readUInt32LE(at);
    const number = bytes.readDoubleLE(at + 8);
    const last = entries.at(-1);
    const isNext = last === undefined || number === last.number + 1;
    if (end === at + HEADER_BYTES || end > bytes.length || !isNext) break;
    if (crc32(bytes.subarray(at + 8, end)) !== bytes.readUInt32LE(at + 4)) break;
    entries.push({ number, text: bytes.toString("utf8", at + HEADER_BYTES, end) });
    at = end;
  }
  return entries;
}
