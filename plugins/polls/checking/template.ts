import { didYouMean, exactJson } from "portico";
import { errors } from "../errors.ts";
import { readPath, valueAt } from "../value-path.ts";

/** What a placeholder may begin with. */
const NAMES = ["item", "url", "count", "name", "id", "diff"] as const;
/** What other programs call the item. */
const ITEM = new Set(["entry", "row", "data", "body", "payload"]);

const PLACEHOLDER = /\{(json\s+)?([A-Za-z_][\w.[\]*$-]*)\}/g;

/** What the placeholders stand for. */
export type TemplateValues = Record<string, unknown>;

/**
 * Throws `invalid_request_error` for a placeholder that is written like one of ours and would stay as it is: `{itm.title}`,
 * and for one whose path cannot be read: `{item..title}`.
 * Other words in braces, such as a JSON example, are left alone.
 */
export function checkTemplate(template: string, param: string): void {
  for (const [placeholder, , path = ""] of template.matchAll(PLACEHOLDER)) {
    const root = rootOf(path);
    if (NAMES.some((name) => name === root)) {
      if (readPath(path) === undefined)
        throw errors.badPath({ path: JSON.stringify(path) }, { param });
      continue;
    }
    const rest = path.slice(root.length);
    const name = ITEM.has(root) && rest !== "" ? "item" : didYouMean(root, NAMES);
    if (name === undefined) continue;
    const names = NAMES.map((each) => `{${each}}`).join(", ");
    throw errors.badPlaceholder({ placeholder, nearest: `{${name}${rest}}`, names }, { param });
  }
}

const rootOf = (path: string): string => /^\w+/.exec(path)?.[0] ?? "";

function asText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? exactJson.stringify(value)! : String(value);
}

/** Fills in `{item.title}` and its kin; `{json item}` as JSON. What is not there renders empty. */
export function render(template: string, values: TemplateValues): string {
  return template.replace(PLACEHOLDER, (whole: string, json: string | undefined, path: string) => {
    // Braces that name nothing of ours (a JSON example in the text) stay as they are.
    if (!Object.hasOwn(values, rootOf(path))) return whole;
    const steps = readPath(path);
    const value = steps === undefined ? undefined : valueAt(values, steps);
    return json === undefined ? asText(value) : (exactJson.stringify(value) ?? "");
  });
}

/** True where filling in would change the text. */
export function hasPlaceholders(template: string, values: TemplateValues): boolean {
  return [...template.matchAll(PLACEHOLDER)].some(([, , path]) =>
    Object.hasOwn(values, rootOf(path!)),
  );
}
