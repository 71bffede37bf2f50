import { didYouMean, exactJson } from "portico";
import { errors } from "../errors.ts";
import { readPath, valueAt } from "../value-path.ts";

/** The names with which a placeholder may begin. */
const ROOT_NAMES = ["item", "url", "count", "name", "id", "diff"] as const;
/** Names that other programs use for the item. */
const ITEM_ALIASES = new Set(["entry", "row", "data", "body", "payload"]);

const PLACEHOLDER = /\{(json\s+)?([A-Za-z_][\w.[\]*$-]*)\}/g;

/** The values of the placeholders, by root name. */
export type TemplateValues = Record<string, unknown>;

/**
 * Throws `invalid_request_error` for a misspelt placeholder, which would not be filled in (`{itm.title}`), and for an invalid
 * path (`{item..title}`). Other words in braces, such as a JSON example, are allowed.
 */
export function checkTemplate(template: string, param: string): void {
  for (const [placeholder, , path = ""] of template.matchAll(PLACEHOLDER)) {
    const root = rootOf(path);
    if (ROOT_NAMES.some((name) => name === root)) {
      if (readPath(path) === undefined)
        throw errors.badPath({ path: JSON.stringify(path) }, { param });
      continue;
    }
    const rest = path.slice(root.length);
    const name = ITEM_ALIASES.has(root) && rest !== "" ? "item" : didYouMean(root, ROOT_NAMES);
    if (name === undefined) continue;
    const names = ROOT_NAMES.map((rootName) => `{${rootName}}`).join(", ");
    throw errors.badPlaceholder({ placeholder, nearest: `{${name}${rest}}`, names }, { param });
  }
}

const rootOf = (path: string): string => /^\w+/.exec(path)?.[0] ?? "";

function asText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? exactJson.stringify(value)! : String(value);
}

/** Fills in placeholders such as `{item.title}`, and `{json item}` as JSON. A missing value becomes an empty string. */
export function render(template: string, values: TemplateValues): string {
  return template.replace(PLACEHOLDER, (whole: string, json: string | undefined, path: string) => {
    // Other words in braces, such as a JSON example, stay as they are.
    if (!Object.hasOwn(values, rootOf(path))) return whole;
    const steps = readPath(path);
    const value = steps === undefined ? undefined : valueAt(values, steps);
    return json === undefined ? asText(value) : (exactJson.stringify(value) ?? "");
  });
}

/** Returns whether the template has placeholders that `render` would fill in. */
export function hasPlaceholders(template: string, values: TemplateValues): boolean {
  return [...template.matchAll(PLACEHOLDER)].some(([, , path]) =>
    Object.hasOwn(values, rootOf(path!)),
  );
}
