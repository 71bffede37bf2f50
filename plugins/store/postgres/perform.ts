/** Runs an operation's steps on a connection. */
import type { Operation, Result } from "../sql/operation.ts";
import { type Client, execute } from "./connection.ts";

/** Milliseconds since 1970, by the server. */
export const CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now";

export async function perform<T>(client: Client, operation: Operation<T>): Promise<T> {
  let step = operation.next();
  while (!step.done) {
    let result: Result;
    try {
      result = await execute(client, step.value);
    } catch (error) {
      operation.return(undefined as T);
      throw error;
    }
    step = operation.next(result);
  }
  return step.value;
}
