/** What a declaration of a route of the control API is made of. */
import { type ResponseDeclarations, type Static, type TSchema, Type } from "portico";
import { AnyObject, jsonResponse } from "portico/openapi";

export const optional = Type.Optional;

export type Fields = Record<string, TSchema>;

/**
 * What a route is about: the list of profiles and their data, the browser as a whole, its tabs as a list, or what a page
 * shows, which takes a tab and as a rule the automation library.
 */
export type About = "profiles" | "browser" | "tabs" | "page";

export interface Declaration<F extends Fields = Fields> {
  /** One line for listings. */
  summary: string;
  about: About;
  /** What the route takes in its path, query or body, beside the fields that all routes take. */
  fields: F;
  response: ResponseDeclarations;
  /** What the route does, as the beginning of a sentence: "The snapshot". */
  what: string;
  /** The route responds within this time, ms, plus the caller's `timeoutMs`. */
  limitMs: number;
  /** The route changes what outlasts the use of a browser. */
  isLasting: boolean;
}

type Defaults = "about" | "fields" | "limitMs" | "isLasting";
type Described<F extends Fields> = Omit<Declaration<F>, Defaults | "response"> &
  Partial<Pick<Declaration<F>, Defaults>> & {
    /** Members of the response beside `ok`, or the whole declaration. */
    response?: TSchema | ResponseDeclarations;
  };

const Ok = Type.Object({ ok: Type.Literal(true) });

/** Fills in what most routes have in common. */
export function declare<F extends Fields = Record<never, never>>(
  route: Described<F>,
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

/** What the fields of every route are for; the command line says the same of its options. */
export const COMMON_TEXTS = {
  profile: "The name of the browser profile (default: browser.defaultProfile)",
  targetId: "The id of the tab, or the beginning of it (default: the tab that was used last)",
  timeoutMs: "Give up after this many milliseconds",
};

/** Fields of every route. */
export const COMMON = {
  profile: optional(Type.String({ minLength: 1, description: COMMON_TEXTS.profile })),
  targetId: optional(Type.String({ minLength: 1, description: COMMON_TEXTS.targetId })),
  timeoutMs: optional(
    Type.Integer({ minimum: 1, maximum: 600_000, description: COMMON_TEXTS.timeoutMs }),
  ),
};

/** What the operation of a route gets. */
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

/** Responses that several routes have. */
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
