/** What a walk through a caller's JSON Schema needs: its budget, references, and schemas that hold together. */
import { isDeepStrictEqual } from "node:util";
import type { FittingTexts } from "./fitting-text.ts";

export type Schema = Record<string, unknown>;

export interface Work {
  /** Throws 400 once too much was asked for. */
  take(amount: number): void;
}

/** One walk through a schema. */
export interface Walk {
  root: unknown;
  texts: FittingTexts;
  depth: number;
  /** What this place stands within, by its references. */
  refs: readonly string[];
  work: Work;
  spent: Spent;
}

/** What has been used up for finding out whether values fit: it is given up, not refused, where it is too much. */
interface Spent {
  checks: number;
  /** Values thrown away. */
  wasted: number;
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function without(schema: Schema, ...keys: string[]): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)));
}

/** A `$ref` within the same schema: `#`, `#/$defs/x`. */
export function follow({ root, work }: Walk, ref: string): unknown {
  work.take(ref.length);
  if (!ref.startsWith("#")) return {};
  return ref
    .slice(1)
    .split("/")
    .filter((step) => step !== "")
    .reduce<unknown>((at, step) => {
      const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
      return isSchema(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    }, root);
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

const MOST_NESTED = 64;
const HIGHER = [
  "minimum",
  "exclusiveMinimum",
  "minLength",
  "minItems",
  "minProperties",
  "minContains",
];
const LOWER = [
  "maximum",
  "exclusiveMaximum",
  "maxLength",
  "maxItems",
  "maxProperties",
  "maxContains",
];

/** The schema without `$ref` and `allOf`: what they say stands beside the rest. */
export function flat(schema: Schema, walk: Walk): Schema {
  const { $ref, allOf, ...rest } = schema;
  if (typeof $ref !== "string" && !Array.isArray(allOf)) return schema;
  const merger = createMerger(walk.work);
  if (walk.depth < MOST_NESTED) {
    const deeper = { ...walk, depth: walk.depth + 1 };
    const parts = typeof $ref === "string" ? [follow(walk, $ref), ...listOf(allOf)] : listOf(allOf);
    for (const part of parts) if (isSchema(part)) merger.add(flat(part, deeper));
  }
  merger.add(rest);
  return merger.merged;
}

/** What holds where both hold. */
export function both(one: Schema, other: Schema, work: Work): Schema {
  const merger = createMerger(work);
  merger.add(one);
  merger.add(other);
  return merger.merged;
}

function createMerger(work: Work) {
  const merged: Schema = {};
  /** Made here: more can be added. Whatever else stands in a schema is the caller's, or shared. */
  const made = new WeakSet<object>();

  function own<T extends object>(one: T, copy: () => T): T {
    if (made.has(one)) return one;
    const copied = copy();
    work.take(Object.keys(copied).length);
    made.add(copied);
    return copied;
  }

  /** Of what cannot be brought together the part counts. */
  function add(part: Schema): void {
    work.take(1 + Object.keys(part).length);
    for (const [key, value] of Object.entries(part)) merged[key] = joined(key, merged[key], value);
  }

  function joined(key: string, old: unknown, value: unknown): unknown {
    if (old === undefined) return value;
    if (typeof old === "number" && typeof value === "number") {
      if (HIGHER.includes(key)) return Math.max(old, value);
      return LOWER.includes(key) ? Math.min(old, value) : value;
    }
    if (key === "type") return commonTypes(old, value, work);
    if (key === "properties" && isSchema(old) && isSchema(value)) return withProperties(old, value);
    if (!Array.isArray(old) || !Array.isArray(value)) return value;
    if (key === "enum") {
      work.take(old.length * value.length);
      return value.filter((one) => old.some((two) => isDeepStrictEqual(one, two)));
    }
    if (key !== "required") return value;
    work.take(value.length);
    const names = own(old, () => [...old]);
    for (const name of value) names.push(name);
    return names;
  }

  function withProperties(old: Schema, more: Schema): Schema {
    const all = own(old, () => ({ ...old }));
    work.take(Object.keys(more).length);
    for (const [name, schema] of Object.entries(more)) {
      const one = Object.hasOwn(all, name) ? all[name] : undefined;
      if (!isSchema(one) || !isSchema(schema)) {
        Object.defineProperty(all, name, {
          value: schema,
          enumerable: true,
          configurable: true,
          writable: true,
        });
      } else if (made.has(one)) listOf(one["allOf"]).push(schema);
      else {
        const several = { allOf: [one, schema] };
        made.add(several);
        all[name] = several;
      }
    }
    return all;
  }

  return { merged, add };
}

function commonTypes(one: unknown, other: unknown, work: Work): unknown[] {
  const [a, b] = [[one].flat(), [other].flat()];
  work.take(a.length * b.length);
  const common = b.filter(
    (type) => a.includes(type) || (type === "integer" && a.includes("number")),
  );
  if (b.includes("number") && a.includes("integer") && !common.includes("integer"))
    common.push("integer");
  return common;
}
