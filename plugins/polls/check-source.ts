/**
 * Validates what the schema of sources cannot express: allowed combinations of fields, and the syntax of selectors,
 * patterns and paths.
 */
import { errors } from "./errors.ts";
import type { Source } from "./schema.ts";
import { compileIgnorePatterns } from "./sources/pages/ignore.ts";
import { compileSelector } from "./sources/pages/select.ts";
import { createFieldMissingError } from "./sources/source.ts";
import { readPath } from "./value-path.ts";

/** The allowed fields of each kind of source, in addition to `kind`. */
const FIELDS: Record<Source["kind"], readonly string[]> = {
  http: ["url", "headers", "method", "body", "browser", "ignore"],
  json: ["url", "headers", "method", "body", "items", "key"],
  feed: ["url", "headers", "method", "body"],
  html: ["url", "headers", "method", "body", "browser", "selector", "ignore", "remove"],
  file: ["path", "ignore", "match"],
};

/** Fields that a page in the browser cannot have. */
const UNUSABLE_WITH_BROWSER = ["headers", "method", "body"] as const;

/** Throws `invalid_request_error` for the first fault. */
export function checkSource(source: Source): void {
  checkFields(source);
  for (const [name, value] of Object.entries(source.headers ?? {})) checkHeader(name, value);
  if (source.method === "GET" && source.body !== undefined)
    throw errors.bodyWithGet({ param: "source.body" });
  if (source.selector !== undefined) compileSelector(source.selector);
  for (const selector of source.remove ?? []) compileSelector(selector);
  compileIgnorePatterns(source.ignore);
  checkPath(source.items, "source.items");
  checkPath(source.key, "source.key");
}

function checkPath(path: string | undefined, param: string): void {
  if (path !== undefined && readPath(path) === undefined)
    throw errors.badPath({ path: JSON.stringify(path) }, { param });
}

function checkFields(source: Source): void {
  const { kind } = source;
  const allowedFields = FIELDS[kind];
  const fields = Object.entries(source).filter(([, value]) => value !== undefined);
  const unknownField = fields
    .map(([key]) => key)
    .find((key) => key !== "kind" && !allowedFields.includes(key));
  if (unknownField !== undefined)
    throw errors.fieldUnknown(
      { kind, field: unknownField, fields: allowedFields.join(", ") },
      { param: `source.${unknownField}` },
    );
  const placeField = kind === "file" ? "path" : "url";
  if (source[placeField] === undefined) throw createFieldMissingError(placeField, kind);
  if (!source.browser) return;
  const unusableField = UNUSABLE_WITH_BROWSER.find((field) => source[field] !== undefined);
  if (unusableField !== undefined)
    throw errors.fieldNotForBrowser({ field: unusableField }, { param: `source.${unusableField}` });
}

function checkHeader(name: string, value: string): void {
  const param = `source.headers.${name}`;
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    throw errors.badHeader(
      { name, problem: "its name has a character that is not allowed in headers" },
      { param },
    );
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    throw errors.badHeader(
      { name, problem: "its value has a character that is not allowed in headers" },
      { param },
    );
}
