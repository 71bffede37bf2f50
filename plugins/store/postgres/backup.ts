/** Copies the whole store into a file of the embedded engine, which any gateway can open and `store migrate` can move back. */
import { existsSync, rmSync } from "node:fs";
import type { Logger } from "portico";
import { errors } from "../errors.ts";
import { SharedTransaction } from "../sql/transaction.ts";
import { createSqliteEngine } from "../sqlite/engine.ts";
import { type Source, transfer } from "../transfer/transfer.ts";
import type { Client } from "./connection.ts";
import { perform } from "./perform.ts";

interface CopyOptions {
  file: string;
  log: Logger;
  now: () => number;
}

/** Copies in one read-only transaction, so that all reads see the same moment, while other work continues. */
export async function copyToFile(
  client: Client,
  { file, log, now }: CopyOptions,
): Promise<{ bytes: number }> {
  if (existsSync(file)) throw errors.copyExists();
  const part = `${file}.copying`;
  const removePart = () => {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${part}${suffix}`, { force: true });
  };
  removePart();
  const target = createSqliteEngine({
    file: part,
    log,
    clock: now,
    sharing: "private",
    acceptsIncomplete: true,
  });
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  try {
    await client.query("SET LOCAL idle_in_transaction_session_timeout = 0");
    const source: Source = {
      read: (operation) => perform(client, new SharedTransaction().read(operation, now())),
    };
    await transfer(source, target, { from: "backup" });
    return await target.backup(file);
  } finally {
    await target.close().catch(() => {});
    removePart();
    await client.query("ROLLBACK").catch(() => {});
  }
}
