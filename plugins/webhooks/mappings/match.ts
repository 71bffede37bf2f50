/** Whether a mapping's `match` holds for a request. */
import { exactJson } from "portico";
import { lookUp, type Path, pathAt, type Request } from "./paths.ts";
import { readPattern } from "./patterns.ts";
import type { Condition } from "../schema.ts";

export type Matcher = (request: Request) => boolean;

/** All conditions must hold; none: every request does. */
export async function readMatch(match: Record<string, Condition>, key: string): Promise<Matcher> {
  const tests: { path: Path; holds: (value: unknown) => boolean }[] = [];
  for (const [text, condition] of Object.entries(match)) {
    const at = `${key}["${text}"]`;
    tests.push({ path: pathAt(text, at), holds: await readCondition(condition, at) });
  }
  return (request) => tests.every(({ path, holds }) => holds(lookUp(request, path)));
}

async function readCondition(
  condition: Condition,
  key: string,
): Promise<(value: unknown) => boolean> {
  if (typeof condition !== "object" || condition === null)
    return (value) => isSame(value, condition);
  if ("in" in condition) return (value) => condition.in.some((one) => isSame(value, one));
  if ("prefix" in condition)
    return (value) => typeof value === "string" && value.startsWith(condition.prefix);
  if ("exists" in condition) return (value) => (value !== undefined) === condition.exists;
  const pattern = await readPattern(condition.regex, key);
  return (value) => isText(value) && pattern(String(value));
}

/** Same type and value: `"1"` is not `1`. A number that no double holds is written as a text of its digits. */
function isSame(value: unknown, wanted: string | number | boolean | null): boolean {
  return exactJson.isNumber(value) ? String(value) === wanted : value === wanted;
}

function isText(value: unknown): boolean {
  if (exactJson.isNumber(value)) return true;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
