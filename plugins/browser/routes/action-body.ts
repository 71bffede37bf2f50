/** The body of `POST /act`, for listings: loaded when somebody reads them, since the kinds bring all actions along. */
import { type TSchema, Type } from "portico";
import { KINDS } from "../actions/kinds.ts";
import { COMMON } from "../declarations/declare.ts";
import { DECLARATIONS } from "../declarations/routes.ts";

/** Each kind of action has fields of its own. */
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
