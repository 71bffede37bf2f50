/** Turns the input that a route declares into checks of its requests. */
import { type TSchema, Type } from "@sinclair/typebox";
import { compile } from "../../schema/check.ts";
import type { Call, Check, Declared, RouteOptions } from "../../contract/index.ts";
import { strict } from "../../schema/strict.ts";
import { readQuery } from "../../schema/query.ts";

export interface RouteInput {
  optionalBody: boolean;
  /** The check of the body; undefined if the kernel does not check it. */
  body(): Promise<Check<unknown> | undefined>;
  /** The check of path, query and body as one input. */
  merged(): Promise<MergedInput>;
  /**
   * Throws or rejects if the path or the query violates its schema. Returns undefined if there is nothing to wait for,
   * as with most routes.
   */
  check(call: Pick<Call, "params" | "query">): Promise<void> | undefined;
}

interface MergedInput {
  check: Check<unknown>;
  takesBody: boolean;
  /** Throws if the body has a member that the input does not have. */
  refuseUnknown(body: Readonly<Record<string, unknown>>): void;
}

const UNCHECKED = {
  body: async () => undefined,
  check: () => undefined,
};

export function declaredInput(options: RouteOptions): RouteInput {
  const { params, query, body, optionalBody = false, checkedBy = "kernel" } = options;
  const common = { optionalBody, merged: () => mergeInput(options) };
  if (checkedBy === "handler") return { ...UNCHECKED, ...common };
  return {
    ...common,
    async body() {
      if (!body) return undefined;
      return compileOnce(await loadSchema(body));
    },
    check(call) {
      const pathCheck = checkPart(params, () => call.params);
      const queryCheck = checkPart(query, (schema) => readQuery(call.query, schema));
      return pathCheck || queryCheck
        ? Promise.all([pathCheck, queryCheck]).then(() => undefined)
        : undefined;
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

async function loadSchema(declared: Declared<TSchema>): Promise<TSchema> {
  return typeof declared === "function" ? declared() : declared;
}

const mergedInputs = new WeakMap<RouteOptions, MergedInput>();

/** Merges the members of all three parts into one schema, in the order in which they override each other. */
async function mergeInput(options: RouteOptions): Promise<MergedInput> {
  const cachedInput = mergedInputs.get(options);
  if (cachedInput) return cachedInput;
  const members: Record<string, TSchema> = {};
  for (const declared of [options.query, options.body, options.params]) {
    const schema = declared ? await loadSchema(declared) : undefined;
    Object.assign(members, schema?.["properties"]);
  }
  const input = {
    check: compile(Type.Object(members)),
    takesBody: Boolean(options.body),
    refuseUnknown: createNameCheck(members),
  };
  mergedInputs.set(options, input);
  return input;
}

/** Returns a check of the body's names alone. It does not apply to the query, which may have undeclared parameters. */
function createNameCheck(members: Record<string, TSchema>): MergedInput["refuseUnknown"] {
  const names = Object.keys(members).map((name) => [name, Type.Optional(Type.Unknown())]);
  const check = compile(Type.Object(Object.fromEntries(names), { additionalProperties: false }));
  return (body) => {
    // A null counts as absent, also for an unknown member.
    const nonNullMembers = Object.entries(body).filter(([, value]) => value !== null);
    check.parse(Object.fromEntries(nonNullMembers));
  };
}

/** Checks the value that `readValue` returns, synchronously unless the schema has to be loaded. */
function checkPart(
  declared: Declared<TSchema> | undefined,
  readValue: (schema: TSchema) => unknown,
): Promise<void> | undefined {
  if (declared === undefined) return undefined;
  const check = (schema: TSchema): void => void compileOnce(schema).parse(readValue(schema));
  if (typeof declared === "function") return declared().then(check);
  check(declared);
  return undefined;
}

const checks = new WeakMap<TSchema, Check<unknown>>();

/** Compiling is expensive, and a function may return the same schema repeatedly. */
function compileOnce(schema: TSchema): Check<unknown> {
  const check = checks.get(schema) ?? compile(schema);
  checks.set(schema, check);
  return check;
}
