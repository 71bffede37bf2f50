/** What a mapping answers to its sender instead of our own words. */
import { errors } from "../errors.ts";
import { newId } from "portico/agent";
import type { RespondConfig } from "../schema.ts";
import type { Request } from "./paths.ts";
import { readTemplate, type Template } from "./template.ts";

/** With the values of a request filled in; only the turn's result may still be open. JSON-ready: it is kept for repeats. */
export interface PreparedResponse {
  status: number;
  headers: Record<string, string>;
  body?: unknown;
  /** Stands where the turn's result is to be. */
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

/** What the server itself sets. */
const OWN_HEADERS = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/** Throws `invalid_request_error` for a header that cannot be set, or a wrong placeholder. */
export function readRespond(config: RespondConfig, key: string): Respond {
  const { status = 200, headers = {}, body } = config;
  const templates = Object.entries(headers).map(([name, text]) => {
    const at = `${key}.headers.${name}`;
    const lower = name.toLowerCase();
    if (!/^[\w-]+$/.test(name) || OWN_HEADERS.has(lower))
      throw errors.badHeader({ key: at }, { param: at });
    return [lower, readTemplate(text, at)] as const;
  });
  const fill = readValue(body, `${key}.body`);
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

/** The whole response. */
export function finishResponse(
  { status, headers, body, result: place }: PreparedResponse,
  result = "",
) {
  const fill = (text: string) => text.replaceAll(place, () => result);
  return {
    status,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, text]) => [name, headerText(fill(text))]),
    ),
    body: mapTexts(body, fill),
  };
}

/** A body in which every text is a template. */
function readValue(body: unknown, key: string): (text: (template: Template) => string) => unknown {
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

/** A header is one line of Latin-1. */
function headerText(text: string): string {
  return text.replace(/[^\t\x20-\x7e\xa0-\xff]+/g, " ").trim();
}
