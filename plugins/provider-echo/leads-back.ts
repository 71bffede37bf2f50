/** Which alternatives of a schema only lead back to what is being made: a list that links to its next has an end as well. */
import { follow, isSchema, listOf, numberOf, type Schema, type Walk } from "./schema.ts";

/** The alternatives, those that lead back last. */
export function endingFirst(options: readonly unknown[], walk: Walk): unknown[] {
  const ends = new Set<string>();
  const back = options.map((option) => leadsBack(option, walk, new Set(walk.refs), ends));
  return [...options.filter((_, i) => !back[i]), ...options.filter((_, i) => back[i])];
}

/** The walk, within what this schema refers to. */
export function within(walk: Walk, schema: unknown): Walk {
  const refs = isSchema(schema) ? refsOf(schema) : [];
  return refs.length === 0 ? walk : { ...walk, refs: [...walk.refs, ...refs] };
}

function refsOf({ $ref, allOf }: Schema): string[] {
  const all = [$ref, ...listOf(allOf).map((part) => (isSchema(part) ? part["$ref"] : undefined))];
  return all.filter((ref) => typeof ref === "string");
}

/** Every value of the schema holds one of what `seen` refers to. What is known to end is looked at once. */
function leadsBack(
  schema: unknown,
  walk: Walk,
  seen: ReadonlySet<string>,
  ends: Set<string>,
): boolean {
  if (!isSchema(schema)) return false;
  walk.work.take(1 + Object.keys(schema).length);
  const { $ref, allOf, anyOf, oneOf, properties, required, items, prefixItems, minItems } = schema;
  const again = (part: unknown) => leadsBack(part, walk, seen, ends);
  if (typeof $ref === "string" && !ends.has($ref)) {
    if (seen.has($ref) || leadsBack(follow(walk, $ref), walk, new Set([...seen, $ref]), ends))
      return true;
    ends.add($ref);
  }
  if (listOf(allOf).some(again)) return true;
  for (const options of [listOf(anyOf), listOf(oneOf)])
    if (options.length > 0 && options.every(again)) return true;
  const own = isSchema(properties) ? properties : {};
  if (
    listOf(required).some(
      (name) => typeof name === "string" && Object.hasOwn(own, name) && again(own[name]),
    )
  )
    return true;
  const least = numberOf(minItems) ?? 0;
  return least > 0 && (again(items) || listOf(prefixItems).slice(0, least).some(again));
}
