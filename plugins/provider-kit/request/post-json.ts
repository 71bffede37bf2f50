/** The request of a provider that sends JSON. */
import { stringifyExact } from "../json/exact-json.ts";
import type { Fields } from "./fields.ts";
import type { WireRequest } from "../types/provider.ts";

/** Members of the body that are undefined are left out. `fields` lists what was dropped. */
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

/** The list, or undefined where it is empty: for members that are left out then. */
export function filled<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length > 0 ? list : undefined;
}

/** The object, or undefined where none of its members has a value. */
export function filledObject<T extends object>(value: T): T | undefined {
  return Object.values(value).some((one) => one !== undefined) ? value : undefined;
}
