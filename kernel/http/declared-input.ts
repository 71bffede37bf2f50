/** What a route declares of its input, as checks of requests. */
import type { TSchema } from "@sinclair/typebox";
import { compile } from "../schema/check.ts";
import type { Call, Check, Declared, RouteOptions } from "../contract/index.ts";
import { readQuery } from "./query.ts";

export interface RouteInput {
  optionalBody: boolean;
  /** The check of the body; undefined where the kernel does not check it. */
  body(): Promise<Check<unknown> | undefined>;
  /** Throws or rejects where the path or the query breaks its declaration. Most routes need not be waited for. */
  check(call: Pick<Call, "params" | "query">): Promise<void> | undefined;
}

const NOTHING: RouteInput = {
  optionalBody: false,
  body: async () => undefined,
  check: () => undefined,
};

export function declaredInput(options: RouteOptions): RouteInput {
  const { params, query, body, optionalBody = false, checkedBy = "kernel" } = options;
  if (checkedBy === "handler") return { ...NOTHING, optionalBody };
  return {
    optionalBody,
    async body() {
      if (!body) return undefined;
      return checkOf(typeof body === "function" ? await body() : body);
    },
    check(call) {
      const inPath = checking(params, () => call.params);
      const inQuery = checking(query, (schema) => readQuery(call.query, schema));
      return inPath || inQuery ? Promise.all([inPath, inQuery]).then(() => undefined) : undefined;
    },
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
