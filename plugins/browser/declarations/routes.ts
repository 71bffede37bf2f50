/**
 * Every route of the control API, declared once: the server, the browser's own checks, OpenAPI and the command line are
 * made from it. What a route does is in `routes/operations.ts`, which is loaded at the first request.
 */
import { type Method, type TSchema, Type } from "portico";
import { control } from "./control.ts";
import { data } from "./data.ts";
import { type About, COMMON, type Declaration, type Fields } from "./declare.ts";
import { page } from "./page.ts";

export const DECLARATIONS = { ...control, ...page, ...data };

/** A route's method and path: `GET /tabs`. */
export type RouteName = keyof typeof DECLARATIONS;

export interface Route extends Declaration {
  name: RouteName;
  method: Method;
  path: string;
  /** All that a request holds: from its path, its query and its body. */
  schema: TSchema & { properties: Fields };
}

export const ROUTES: readonly Route[] = Object.entries(DECLARATIONS).map(
  ([name, declaration]: [string, Declaration]) => {
    const [method, path] = name.split(" ") as [Method, string];
    return {
      ...declaration,
      name: name as RouteName,
      method,
      path,
      schema: Type.Object({ ...COMMON, ...declaration.fields }),
    };
  },
);

const aboutByPath = new Map(ROUTES.map(({ path, about }) => [path, about]));

export function aboutOf(path: string): About {
  return aboutByPath.get(path) ?? "page";
}

export interface RouteInput {
  params: TSchema;
  query: TSchema;
  /** Only of a POST. */
  body: TSchema | null;
}

/** Where a request has the fields of a route. Those that every route takes may be in the query beside a body. */
export function inputOf({ method, path, schema }: Route): RouteInput {
  const isInPath = (name: string): boolean => path.split("/").includes(`:${name}`);
  const pick = (isWanted: (name: string) => boolean): TSchema =>
    Type.Object(
      Object.fromEntries(Object.entries(schema.properties).filter(([name]) => isWanted(name))),
    );
  const params = pick(isInPath);
  const others = pick((name) => !isInPath(name));
  if (method === "POST") return { params, query: Type.Object(COMMON), body: others };
  return { params, query: others, body: null };
}
