/** What the routes take, as listings show it: made of the declarations that requests are checked by. */
import { type Method, type TSchema, Type } from "portico";
import { KINDS } from "../actions/kinds.ts";
import { ROUTES } from "../browser-control.ts";
import { COMMON } from "./route.ts";

interface Described {
  params: TSchema;
  query: TSchema;
  /** Of a POST. */
  body: TSchema;
}

/** What every route takes may be in the query beside a body. */
export function describeInput(method: Method, path: string): Described {
  const { properties } = ROUTES.find(
    (route) => route.method === method && route.path === path,
  )!.schema;
  const pick = (keep: (name: string) => boolean) =>
    Type.Object(Object.fromEntries(Object.entries(properties).filter(([name]) => keep(name))));
  const isInPath = (name: string): boolean => path.split("/").includes(`:${name}`);
  const isElsewhere = (name: string): boolean => !isInPath(name);
  const params = pick(isInPath);
  if (method !== "POST") return { params, query: pick(isElsewhere), body: Type.Object({}) };
  const body = pick(isElsewhere);
  return {
    params,
    query: pick((name) => isElsewhere(name) && name in COMMON),
    body: path === "/act" ? actions(body.properties) : body,
  };
}

/** Each kind of action has fields of its own. */
function actions(shared: Record<string, TSchema>): TSchema {
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
