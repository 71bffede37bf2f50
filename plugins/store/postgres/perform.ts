/** Runs an operation's steps on a connection, and takes locks. */
import type { Lock } from "../sql/locks.ts";
import type { Operation, Result, Step } from "../sql/operation.ts";
import { type Client, execute } from "./connection.ts";

/** Reads the server's clock, in milliseconds since 1970. */
export const CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now";

/** Locks are advisory locks of a transaction, because most rows to lock do not exist yet. Each schema has its own. */
const KEY = "hashtextextended(current_schema() || ' ' || name, 0)";
const TAKE_LOCKS = `SELECT count(pg_advisory_xact_lock(${KEY})) FROM unnest($1::text[]) AS name`;
const TRY_LOCKS = `SELECT name FROM unnest($1::text[]) AS name WHERE pg_try_advisory_xact_lock(${KEY}) LIMIT $2`;
const NEXT_TOKEN = "SELECT nextval('lane_tokens') AS token";

export async function perform<T>(client: Client, operation: Operation<T>): Promise<T> {
  let step = operation.next();
  while (!step.done) {
    let result: Result;
    try {
      result = await executeStep(client, step.value);
    } catch (error) {
      operation.return(undefined as T);
      throw error;
    }
    step = operation.next(result);
  }
  return step.value;
}

async function executeStep(client: Client, step: Step): Promise<Result> {
  if ("sql" in step) return execute(client, step);
  if ("nextToken" in step) {
    const { rows } = await client.query({ text: NEXT_TOKEN, name: "next_token" });
    return { rows, changes: 0 };
  }
  const values = [step.tryLocks, step.max];
  const { rows } = await client.query({ text: TRY_LOCKS, name: "try_locks", values });
  return { rows, changes: 0 };
}

/** Takes all of these locks in the order of their names, which is the same in every gateway, and waits for each. */
export async function takeLocks(client: Client, locks: Iterable<Lock>): Promise<void> {
  const names = [...new Set(locks)].sort();
  if (names.length === 0) return;
  await client.query({ text: TAKE_LOCKS, name: "take_locks", values: [names] });
}
