/** What a request carries: headers, query, body as JSON or a form, and the sender's id of the delivery. */
import { createHash } from "node:crypto";
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { type Call, PorticoError } from "portico";
import type { Verifier } from "./signatures.ts";

export function headersOf(req: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of Object.keys(req.headers)) {
    const value = req.headers[name];
    headers[name] = Array.isArray(value) ? value.join(", ") : (value ?? "");
  }
  return headers;
}

/** The first value of each name. */
export function queryOf(call: Call): Record<string, string> {
  return call.req.url?.includes("?") ? Object.fromEntries([...call.query].reverse()) : {};
}

export function isForm(type: string | undefined): boolean {
  return /^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(type ?? "");
}

/** The body of a mapping's request. Throws 415, 400 `invalid_json`. */
export async function readContent(call: Call): Promise<unknown> {
  if (!isForm(call.req.headers["content-type"])) return call.json();
  const bytes = await call.body();
  if (!isUtf8(bytes)) throw new PorticoError("invalid_request_error", "The form is not valid UTF-8.");
  return readForm(bytes.toString("utf8"));
}

/** Name → value, a list where a name comes several times. A `payload` that is JSON (GitHub, Slack) is taken apart. */
export function readForm(text: string): Record<string, unknown> {
  const fields = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (name === "__proto__") continue;
    const values = fields.get(name);
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  return Object.fromEntries(
    [...fields].map(([name, values]) => {
      const [value = "", ...more] = values;
      if (more.length > 0) return [name, values];
      return [name, name === "payload" && /^\s*[[{]/.test(value) ? parsed(value) : value];
    }),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text, (key, value) => (key === "__proto__" ? undefined : value));
  } catch {
    return text;
  }
}

const ID_HEADERS = ["idempotency-key", "x-github-delivery", "webhook-id"];
/** Senders that always name their deliveries but sign no time: without a name, the same body is the same delivery. */
const NAMED = new Set(["github", "shopify"]);

/** What tells a repeated delivery from a new one; `undefined` where the sender says nothing. `body` never throws. */
export function deliveryId(
  headers: Readonly<Record<string, string>>,
  raw: Buffer,
  body: () => unknown,
  verifier: Verifier | undefined,
): string | undefined {
  // what a signature covers goes first: a replay cannot change it
  const signed = verifier?.signedId?.({ headers, body: raw, now: 0 }, body);
  if (signed) return `signed ${signed}`;
  for (const name of [...ID_HEADERS, ...(verifier?.idHeaders ?? [])]) if (headers[name]) return headers[name];
  if (headers["stripe-signature"]) {
    const id = (body() as { id?: unknown } | null | undefined)?.id;
    if (typeof id === "string" && id !== "") return id;
  }
  return verifier && NAMED.has(verifier.scheme) ? `body ${hashOf(raw)}` : undefined;
}

export function hashOf(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
