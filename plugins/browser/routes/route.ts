/** What a route is made of. */
import { type Method, type Static, type TSchema, Type } from "portico";
import { TimeoutMs } from "../deadline.ts";
import type { Op } from "../op.ts";

type Fields = Record<string, TSchema>;
type Values<P extends Fields> = Static<ReturnType<typeof Type.Object<P>>>;

export interface Route {
  method: Method;
  path: string;
  schema: TSchema & { properties: Fields };
  /** What it does, as a sentence begins: "The snapshot". */
  what: string;
  /** However long the parts take, an answer comes within this, ms, plus `timeoutMs` of the caller. */
  limitMs: number;
  run(op: Op, input: never): Promise<object>;
}

/** Fields of every route. */
export const COMMON = {
  profile: Type.Optional(Type.String({ minLength: 1 })),
  targetId: Type.Optional(Type.String({ minLength: 1 })),
  timeoutMs: TimeoutMs,
};

export const optional = Type.Optional;
export const Bool = Type.Boolean();
export const Text = Type.String();
export const Filled = Type.String({ minLength: 1 });
export const Ref = Type.Union([Type.Integer({ minimum: 1 }), Filled]);
export const oneOf = <const T extends string[]>(...values: T) =>
  Type.Union(values.map((value) => Type.Literal(value as T[number])));

interface RouteOptions {
  what: string;
  limitMs?: number;
}

/** Defines a route: its own fields beside those that all have. */
export function route<P extends Fields>(
  method: Method,
  path: string,
  fields: P,
  options: RouteOptions,
  run: (
    op: Op,
    input: Values<P> & { profile?: string; targetId?: string; timeoutMs?: number },
  ) => Promise<object>,
): Route {
  const schema = Type.Object({ ...COMMON, ...fields });
  return {
    method,
    path,
    schema,
    what: options.what,
    limitMs: options.limitMs ?? 45_000,
    run: run as Route["run"],
  };
}
