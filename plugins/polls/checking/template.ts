import { exactJson } from "portico";
import { valueAt } from "../value-path.ts";

const PLACEHOLDER = /\{(json\s+)?([A-Za-z_][\w.[\]*$-]*)\}/g;

/** What a template may name: `item`, `diff`, `url`, `count`, `name`, … */
export type TemplateValues = Record<string, unknown>;

function asText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? exactJson.stringify(value)! : String(value);
}

/** Fills in `{item.title}` and its kin; `{json item}` as JSON. What is not there renders empty. */
export function render(template: string, values: TemplateValues): string {
  return template.replace(PLACEHOLDER, (whole: string, json: string | undefined, path: string) => {
    // Braces that name nothing of ours (a JSON example in the text) stay as they are.
    if (!Object.hasOwn(values, /^\w+/.exec(path)![0])) return whole;
    const value = valueAt(values, path);
    return json === undefined ? asText(value) : (exactJson.stringify(value) ?? "");
  });
}

/** True where filling in would change the text. */
export function hasPlaceholders(template: string, values: TemplateValues): boolean {
  return [...template.matchAll(PLACEHOLDER)].some(([, , path]) =>
    Object.hasOwn(values, /^\w+/.exec(path!)![0]),
  );
}
