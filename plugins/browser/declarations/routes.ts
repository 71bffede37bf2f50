/**
 * Declares every route of the control API once. The server, the browser's own validation, OpenAPI and the command line
 * are derived from it. The operations are in `routes/operations.ts`, which is loaded at the first request.
 */
import { type Method, type TSchema, Type } from "portico";
import { control } from "./control.ts";
import { data } from "./data.ts";
import { type RouteSubject, COMMON, type Declaration, type Fields } from "./declare.ts";
import { page } from "./page.ts";

export const DECLARATIONS = { ...control, ...page, ...data };

/** The method and path of a route: `GET /tabs`. */
export type RouteName = keyof typeof DECLARATIONS;

export interface Route extends Declaration {
  name: RouteName;
  method: Method;
  path: string;
  /** The schema of all fields of a request, in its path, query and body. */
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

const subjectByPath = new Map(ROUTES.map(({ path, about }) => [path, about]));

export function subjectOf(path: string): RouteSubject {
  return subjectByPath.get(path) ?? "page";
}

export interface RouteInput {
  params: TSchema;
  query: TSchema;
  /** The schema of the body; null except for POST. */
  body: TSchema | null;
}

/**
 * Returns where a request has the fields of a route. The fields of every route may be in the query even if there is a
 * body.
 */
export function inputOf({ method, path, schema }: Route): RouteInput {
  const isInPath = (name: string): boolean => path.split("/").includes(`:${name}`);
  const pick = (isIncluded: (name: string) => boolean): TSchema =>
    Type.Object(
      Object.fromEntries(Object.entries(schema.properties).filter(([name]) => isIncluded(name))),
    );
  const params = pick(isInPath);
  const otherFields = pick((name) => !isInPath(name));
  if (method === "POST") return { params, query: Type.Object(COMMON), body: otherFields };
  return { params, query: otherFields, body: null };
}
