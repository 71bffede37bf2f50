/** The building blocks of a route declaration of the control API. */
import { type ResponseDeclarations, type Static, type TSchema, Type } from "portico";
import { AnyObject, jsonResponse } from "portico/openapi";

export const optional = Type.Optional;

export type Fields = Record<string, TSchema>;

/**
 * The subject of a route: the profiles and their data, the browser as a whole, its list of tabs, or the content of a
 * page, which requires a tab and usually the automation library.
 */
export type RouteSubject = "profiles" | "browser" | "tabs" | "page";

export interface Declaration<F extends Fields = Fields> {
  /** One line that describes the route in listings. */
  summary: string;
  about: RouteSubject;
  /** The fields in path, query or body, in addition to those of all routes. */
  fields: F;
  response: ResponseDeclarations;
  /** The operation as the beginning of a sentence: "The snapshot". */
  what: string;
  /** The time limit of a response in ms, to which the caller's `timeoutMs` is added. */
  limitMs: number;
  /** True if the route changes something that outlasts the use of a browser. */
  isLasting: boolean;
}

type Defaults = "about" | "fields" | "limitMs" | "isLasting";
type RouteDefinition<F extends Fields> = Omit<Declaration<F>, Defaults | "response"> &
  Partial<Pick<Declaration<F>, Defaults>> & {
    /** The schema of the JSON response, or the whole declaration. */
    response?: TSchema | ResponseDeclarations;
  };

const Ok = Type.Object({ ok: Type.Literal(true) });

/** Completes a declaration with the defaults of most routes. */
export function declare<F extends Fields = Record<never, never>>(
  route: RouteDefinition<F>,
): Declaration<F> {
  const { response = Ok } = route;
  return {
    about: "page",
    limitMs: 45_000,
    isLasting: false,
    ...route,
    fields: route.fields ?? ({} as F),
    response: isSchema(response) ? jsonResponse(response) : response,
  };
}

function isSchema(response: TSchema | ResponseDeclarations): response is TSchema {
  return Object.hasOwn(response, "type");
}

/** Descriptions of the fields of every route. The command line uses them for its options too. */
export const COMMON_TEXTS = {
  profile: "The name of the browser profile (default: browser.defaultProfile)",
  targetId: "The id of the tab, or the beginning of the id (default: the tab that was used last)",
  timeoutMs: "Give up after this many milliseconds",
};

/** The fields that every route accepts. */
export const COMMON = {
  profile: optional(Type.String({ minLength: 1, description: COMMON_TEXTS.profile })),
  targetId: optional(Type.String({ minLength: 1, description: COMMON_TEXTS.targetId })),
  timeoutMs: optional(
    Type.Integer({ minimum: 1, maximum: 600_000, description: COMMON_TEXTS.timeoutMs }),
  ),
};

/** The input of a route's operation. */
export type Input<F extends Fields> = Static<ReturnType<typeof Type.Object<F>>> & {
  profile?: string;
  targetId?: string;
  timeoutMs?: number;
};

interface Description {
  description?: string;
}

export const Text = Type.String();
export const Filled = Type.String({ minLength: 1 });
export const Ref = Type.Union([Type.Integer({ minimum: 1 }), Filled]);

export const flag = (description: string) => optional(Type.Boolean({ description }));
export const text = (description: string) => optional(Type.String({ description }));
export const filled = (description: string) => optional(Type.String({ minLength: 1, description }));
export const count = (description: string) => optional(Type.Integer({ minimum: 1, description }));
export const element = (description: string) => optional(Type.Union(Ref.anyOf, { description }));
export const choice = <const T extends string[]>(values: T, options: Description = {}) =>
  Type.Union(
    values.map((value) => Type.Literal(value as T[number])),
    options,
  );

/** Responses that several routes share. */
export const OfTab = Type.Object({ ok: Type.Literal(true), targetId: Type.String() });
export const OfProfile = Type.Object({ ok: Type.Literal(true), profile: Type.String() });
export const WithPath = Type.Object({
  ok: Type.Literal(true),
  path: Type.String({ description: "The path of the file" }),
  bytes: Type.Integer(),
});
export const withOk = (members: Fields) => Type.Object({ ok: Type.Literal(true), ...members });
export const listOfTab = (name: string) =>
  withOk({ targetId: Type.String(), [name]: Type.Array(AnyObject) });
