import type { Source } from "../schema.ts";
import { parseDocument } from "./json-text.ts";
import { CheckFailed } from "./source.ts";

/** What a request's body and a response to it may hold; their values are anybody's. */
interface Fields {
  query?: unknown;
  data?: unknown;
  errors?: unknown;
}

/**
 * Throws `CheckFailed` where a GraphQL query was answered with errors: they come with status 200, in place of the data or
 * of parts of it. Parts are enough for a list that is there nevertheless.
 */
export function refuseErrors({ body, items }: Source, response: Buffer): void {
  const request = typeof body === "string" ? fieldsIn(body) : (body as Fields | undefined);
  if (typeof request?.query !== "string") return;
  const { data, errors } = fieldsIn(response.toString("utf8")) ?? {};
  if (
    !Array.isArray(errors) ||
    errors.length === 0 ||
    (items && data !== null && data !== undefined)
  )
    return;
  const { message } = (errors[0] ?? {}) as { message?: unknown };
  const why = typeof message === "string" ? message.slice(0, 200) : "the server does not say which";
  throw new CheckFailed(`The server answered the query with an error: ${why}.`);
}

function fieldsIn(text: string): Fields | undefined {
  try {
    const value = parseDocument(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch (error) {
    if (error instanceof CheckFailed) throw error;
    return undefined;
  }
}
