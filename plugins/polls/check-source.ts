/** Checks what a source's schema cannot express: fields that belong together, and the syntax of selectors, patterns and paths. */
import { errors } from "./errors.ts";
import type { Source } from "./schema.ts";
import { compileIgnored } from "./sources/pages/ignore.ts";
import { compileSelector } from "./sources/pages/select.ts";
import { fieldMissing } from "./sources/source.ts";
import { readPath } from "./value-path.ts";

/** Which fields a kind of source knows, beside `kind`. */
const FIELDS: Record<Source["kind"], readonly string[]> = {
  http: ["url", "headers", "method", "body", "browser", "ignore"],
  json: ["url", "headers", "method", "body", "items", "key"],
  feed: ["url", "headers", "method", "body"],
  html: ["url", "headers", "method", "body", "browser", "selector", "ignore", "remove"],
  file: ["path", "ignore", "match"],
};

/** What a page in the browser cannot have. */
const NOT_FOR_BROWSER = ["headers", "method", "body"] as const;

/** Throws `invalid_request_error` about the first thing that is wrong. */
export function checkSource(source: Source): void {
  checkFields(source);
  for (const [name, value] of Object.entries(source.headers ?? {})) checkHeader(name, value);
  if (source.method === "GET" && source.body !== undefined)
    throw errors.bodyWithGet({ param: "source.body" });
  if (source.selector !== undefined) compileSelector(source.selector);
  for (const selector of source.remove ?? []) compileSelector(selector);
  compileIgnored(source.ignore);
  checkPath(source.items, "source.items");
  checkPath(source.key, "source.key");
}

function checkPath(path: string | undefined, param: string): void {
  if (path !== undefined && readPath(path) === undefined)
    throw errors.badPath({ path: JSON.stringify(path) }, { param });
}

function checkFields(source: Source): void {
  const { kind } = source;
  const known = FIELDS[kind];
  const fields = Object.entries(source).filter(([, value]) => value !== undefined);
  const unknown = fields.map(([key]) => key).find((key) => key !== "kind" && !known.includes(key));
  if (unknown !== undefined)
    throw errors.fieldUnknown(
      { kind, field: unknown, fields: known.join(", ") },
      { param: `source.${unknown}` },
    );
  const place = kind === "file" ? "path" : "url";
  if (source[place] === undefined) throw fieldMissing(place, kind);
  if (!source.browser) return;
  const unusable = NOT_FOR_BROWSER.find((field) => source[field] !== undefined);
  if (unusable !== undefined)
    throw errors.fieldNotForBrowser({ field: unusable }, { param: `source.${unusable}` });
}

function checkHeader(name: string, value: string): void {
  const param = `source.headers.${name}`;
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    throw errors.badHeader(
      { name, problem: "its name has a character that headers do not allow" },
      { param },
    );
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    throw errors.badHeader(
      { name, problem: "its value has a character that headers do not allow" },
      { param },
    );
}
