/** Builds the request of a provider that sends JSON. */
import { stringifyExact } from "../json/exact-json.ts";
import type { Fields } from "./fields.ts";
import type { WireRequest } from "../types/provider.ts";

/** Returns the request. Omits undefined members of the body. `dropped` defaults to `fields.dropped()`. */
export function postJson(
  url: string,
  headers: Record<string, string>,
  body: object,
  { fields, dropped, state }: { fields?: Fields; dropped?: string[]; state?: unknown } = {},
): WireRequest {
  return {
    method: "POST",
    url,
    headers: { ...headers, "content-type": "application/json" },
    body: stringifyExact(body),
    dropped: dropped ?? fields?.dropped() ?? [],
    state,
  };
}

/** Returns the list, or undefined if it is empty, for members that are omitted in that case. */
export function filled<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length > 0 ? list : undefined;
}

/** Returns the object, or undefined if none of its members has a value. */
export function filledObject<T extends object>(value: T): T | undefined {
  return Object.values(value).some((member) => member !== undefined) ? value : undefined;
}
