import type { Source } from "../schema.ts";
import { parseDocument } from "./json-text.ts";
import { CheckFailed } from "./source.ts";

/** The members of a GraphQL request or response that matter here. Their values come from outside. */
interface Fields {
  query?: unknown;
  data?: unknown;
  errors?: unknown;
}

/**
 * Throws `CheckFailed` if the response to a GraphQL query has errors, which come with status 200 in place of all or some of
 * the data. For a source with `items`, partial data is accepted.
 */
export function refuseErrors({ body, items }: Source, response: Buffer): void {
  const request = typeof body === "string" ? parseFields(body) : (body as Fields | undefined);
  if (typeof request?.query !== "string") return;
  const { data, errors } = parseFields(response.toString("utf8")) ?? {};
  if (
    !Array.isArray(errors) ||
    errors.length === 0 ||
    (items && data !== null && data !== undefined)
  )
    return;
  const { message } = (errors[0] ?? {}) as { message?: unknown };
  const reason = typeof message === "string" ? message.slice(0, 200) : "the server sent no message";
  throw new CheckFailed(`The server responded to the query with an error: ${reason}.`);
}

function parseFields(text: string): Fields | undefined {
  try {
    const value = parseDocument(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch (error) {
    if (error instanceof CheckFailed) throw error;
    return undefined;
  }
}
