/** The response that a mapping defines in place of the default one. */
import { errors } from "../errors.ts";
import { newId } from "portico/agent";
import type { RespondConfig } from "../schema.ts";
import type { Request } from "./paths.ts";
import { readTemplate, type Template } from "./template.ts";

/** A response in which only the turn's result may still be missing. It is JSON, because the store keeps it for repeats. */
export interface PreparedResponse {
  status: number;
  headers: Record<string, string>;
  body?: unknown;
  /** The text in headers and body that is replaced by the turn's result. */
  result: string;
}

interface Ids {
  turnId?: string | undefined;
  sessionId?: string | undefined;
  eventId?: string | undefined;
}

export interface Respond {
  prepare(request: Request, ids: Ids): PreparedResponse;
}

/** The headers that the server sets. */
const RESERVED_HEADERS = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/** Parses `respond`. Throws `invalid_request_error` for a header that cannot be set, or an invalid placeholder. */
export function readRespond(config: RespondConfig, key: string): Respond {
  const { status = 200, headers = {}, body } = config;
  const templates = Object.entries(headers).map(([name, text]) => {
    const headerKey = `${key}.headers.${name}`;
    const lowerName = name.toLowerCase();
    if (!/^[\w-]+$/.test(name) || RESERVED_HEADERS.has(lowerName))
      throw errors.badHeader({ key: headerKey }, { param: headerKey });
    return [lowerName, readTemplate(text, headerKey)] as const;
  });
  const fill = readBodyTemplate(body, `${key}.body`);
  return {
    prepare(request, { turnId = "", sessionId = "", eventId = "" }) {
      const result = newId("result");
      const names = { turnId, sessionId, eventId, result };
      const text = (template: Template) => template.render(request, names).text;
      return {
        status,
        headers: Object.fromEntries(templates.map(([name, template]) => [name, text(template)])),
        body: fill(text),
        result,
      };
    },
  };
}

/** Completes a response with the result of the turn. */
export function finishResponse(
  { status, headers, body, result: placeholder }: PreparedResponse,
  result = "",
) {
  const fill = (text: string) => text.replaceAll(placeholder, () => result);
  return {
    status,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, text]) => [name, toHeaderText(fill(text))]),
    ),
    body: mapTexts(body, fill),
  };
}

/** Parses a body whose texts are templates. Returns a function that renders it. */
function readBodyTemplate(
  body: unknown,
  key: string,
): (text: (template: Template) => string) => unknown {
  const templates = new Map<string, Template>();
  mapTexts(body, (source) => {
    templates.set(source, readTemplate(source, key));
    return source;
  });
  return (text) => mapTexts(body, (source) => text(templates.get(source)!));
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, mapTexts(item, change)]),
  );
}

/** Makes a text a valid header, which is one line of Latin-1. */
function toHeaderText(text: string): string {
  return text.replace(/[^\t\x20-\x7e\xa0-\xff]+/g, " ").trim();
}
