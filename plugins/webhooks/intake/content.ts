/** What a request carries beside its body: headers, query, and the sender's id of the delivery. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Call } from "portico";
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

const ID_HEADERS = ["idempotency-key", "x-github-delivery", "webhook-id"];
/**
 * Senders that always name their deliveries but sign no time, with the header that says what has happened: without a
 * name, the same body about the same is the same delivery.
 */
const NAMED = new Map([
  ["github", "x-github-event"],
  ["shopify", "x-shopify-topic"],
]);

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
  for (const name of [...ID_HEADERS, ...(verifier?.idHeaders ?? [])])
    if (headers[name]) return headers[name];
  if (headers["stripe-signature"]) {
    const id = (body() as { id?: unknown } | null | undefined)?.id;
    if (typeof id === "string" && id !== "") return id;
  }
  const about = verifier && NAMED.get(verifier.scheme);
  return about && `body ${hashOf(raw)} ${headers[about] ?? ""}`;
}

export function hashOf(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
