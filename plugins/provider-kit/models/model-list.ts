import { upstreamError } from "../stream/upstream-error.ts";
import { parseObject } from "../request/parse-object.ts";

/**
 * Reads the ids in an upstream's list of models in OpenAI's form: `{data: [{id}]}`, or the bare list. Throws `upstream_error`
 * for anything else, so that an unreadable response does not look like an upstream without models.
 */
export function readModelList(body: Buffer): string[] {
  const value: unknown = parseObject(body);
  const list = Array.isArray(value) ? value : (value as { data?: unknown } | undefined)?.data;
  if (!Array.isArray(list))
    throw upstreamError(
      { kind: "upstream", message: "The upstream's list of models could not be read." },
      200,
    );
  return list.flatMap((entry: { id?: unknown } | null) =>
    typeof entry?.id === "string" ? [entry.id] : [],
  );
}
