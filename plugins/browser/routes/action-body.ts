/**
 * The schema of the body of `POST /act`. It is loaded only when the routes are listed, since it imports all actions.
 */
import { type TSchema, Type } from "portico";
import { KINDS } from "../actions/kinds.ts";
import { COMMON } from "../declarations/declare.ts";
import { DECLARATIONS } from "../declarations/routes.ts";

/** Builds a union of the kinds of actions, which each have their own fields. */
export function describeActionBody(): TSchema {
  const shared = { ...COMMON, ...DECLARATIONS["POST /act"].fields };
  return Type.Union(
    Object.entries(KINDS).map(([kind, { schema }]) =>
      Type.Object({
        ...shared,
        kind: Type.Literal(kind),
        ...(schema["properties"] as Record<string, TSchema>),
      }),
    ),
  );
}
