/** What a source's schema cannot say: which fields belong together, and whether selectors and patterns can be read. */
import { PorticoError } from "portico";
import type { Source } from "./schema.ts";
import { compileIgnored } from "./sources/pages/ignore.ts";
import { compileSelector } from "./sources/pages/select.ts";
import { needs } from "./sources/source.ts";

const invalid = (message: string, param: string): PorticoError =>
  new PorticoError("invalid_request_error", message, { param });

/** Which fields a kind of source knows, beside `kind`. */
const FIELDS: Record<Source["kind"], readonly string[]> = {
  http: ["url", "headers", "method", "body", "browser", "ignore"],
  json: ["url", "headers", "method", "body", "items", "key"],
  feed: ["url", "headers", "method", "body"],
  html: ["url", "headers", "method", "body", "browser", "selector", "ignore", "remove"],
  file: ["path", "ignore", "match"],
};

/** Throws `invalid_request_error` about the first thing that is wrong. */
export function checkSource(source: Source): void {
  const known = FIELDS[source.kind];
  const given = Object.entries(source).filter(([, value]) => value !== undefined);
  const stray = given.map(([key]) => key).find((key) => key !== "kind" && !known.includes(key));
  if (stray !== undefined)
    throw invalid(
      `A source of kind ${source.kind} has no ${stray}: it knows ${known.join(", ")}.`,
      `source.${stray}`,
    );
  if (source.kind === "file" && source.path === undefined) throw needs("path", "file");
  if (source.kind !== "file" && source.url === undefined) throw needs("url", source.kind);
  const unusable = ["headers", "method", "body"].find(
    (key) => source.browser && source[key as "body"] !== undefined,
  );
  if (unusable !== undefined)
    throw invalid(`A page in the browser takes no ${unusable}.`, `source.${unusable}`);
  for (const [name, value] of Object.entries(source.headers ?? {})) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw invalid("This is no header that can be sent.", `source.headers.${name}`);
  }
  if (source.method === "GET" && source.body !== undefined)
    throw invalid("A GET has no body.", "source.body");
  if (source.selector !== undefined) compileSelector(source.selector);
  for (const selector of source.remove ?? []) compileSelector(selector);
  compileIgnored(source.ignore);
}
