/** What a route declares of its input, as checks of requests. */
import { type TSchema, Type } from "@sinclair/typebox";
import { compile } from "../../schema/check.ts";
import type { Call, Check, Declared, RouteOptions } from "../../contract/index.ts";
import { strict } from "../../schema/strict.ts";
import { readQuery } from "../../schema/query.ts";

export interface RouteInput {
  optionalBody: boolean;
  /** The check of the body; undefined where the kernel does not check it. */
  body(): Promise<Check<unknown> | undefined>;
  /** The check of path, query and body as one input. */
  merged(): Promise<MergedInput>;
  /** Throws or rejects where the path or the query breaks its declaration. Most routes need not be waited for. */
  check(call: Pick<Call, "params" | "query">): Promise<void> | undefined;
}

interface MergedInput {
  check: Check<unknown>;
  takesBody: boolean;
  /** Throws where a body has a member that the input does not have. */
  refuseUnknown(body: Readonly<Record<string, unknown>>): void;
}

const UNCHECKED = {
  body: async () => undefined,
  check: () => undefined,
};

export function declaredInput(options: RouteOptions): RouteInput {
  const { params, query, body, optionalBody = false, checkedBy = "kernel" } = options;
  const reading = { optionalBody, merged: () => mergedInput(options) };
  if (checkedBy === "handler") return { ...UNCHECKED, ...reading };
  return {
    ...reading,
    async body() {
      if (!body) return undefined;
      return checkOf(await schemaOf(body));
    },
    check(call) {
      const inPath = checking(params, () => call.params);
      const inQuery = checking(query, (schema) => readQuery(call.query, schema));
      return inPath || inQuery ? Promise.all([inPath, inQuery]).then(() => undefined) : undefined;
    },
  };
}

/** Returns options whose body accepts only the members that its schema names. A handler that checks the body itself is exempt. */
export function withStrictBody(options: RouteOptions): RouteOptions {
  const { body, checkedBy } = options;
  if (!body || checkedBy === "handler") return options;
  if (typeof body !== "function") return { ...options, body: strict(body) };
  let loading: Promise<TSchema> | undefined;
  const loadStrict = () => {
    loading ??= body().then(strict);
    return loading;
  };
  return { ...options, body: loadStrict };
}

async function schemaOf(declared: Declared<TSchema>): Promise<TSchema> {
  return typeof declared === "function" ? declared() : declared;
}

const mergedInputs = new WeakMap<RouteOptions, MergedInput>();

/** One schema with the members of all three parts, in the order in which they override each other. */
async function mergedInput(options: RouteOptions): Promise<MergedInput> {
  const known = mergedInputs.get(options);
  if (known) return known;
  const members: Record<string, TSchema> = {};
  for (const declared of [options.query, options.body, options.params]) {
    const schema = declared ? await schemaOf(declared) : undefined;
    Object.assign(members, schema?.["properties"]);
  }
  const input = {
    check: compile(Type.Object(members)),
    takesBody: Boolean(options.body),
    refuseUnknown: refusalOfUnknown(members),
  };
  mergedInputs.set(options, input);
  return input;
}

/** Checks only the names, and only in the body: a query may have parameters that no route declares. */
function refusalOfUnknown(members: Record<string, TSchema>): MergedInput["refuseUnknown"] {
  const names = Object.keys(members).map((name) => [name, Type.Optional(Type.Unknown())]);
  const check = compile(Type.Object(Object.fromEntries(names), { additionalProperties: false }));
  return (body) => {
    // A null counts as left out, also for a member that is not known.
    const present = Object.entries(body).filter(([, value]) => value !== null);
    check.parse(Object.fromEntries(present));
  };
}

/** Checks what `read` reads, at once where the schema is there. */
function checking(
  declared: Declared<TSchema> | undefined,
  read: (schema: TSchema) => unknown,
): Promise<void> | undefined {
  if (declared === undefined) return undefined;
  const check = (schema: TSchema): void => void checkOf(schema).parse(read(schema));
  if (typeof declared === "function") return declared().then(check);
  check(declared);
  return undefined;
}

const checks = new WeakMap<TSchema, Check<unknown>>();

/** Compiling costs, and a function may give the same schema again and again. */
function checkOf(schema: TSchema): Check<unknown> {
  const known = checks.get(schema) ?? compile(schema);
  checks.set(schema, known);
  return known;
}
