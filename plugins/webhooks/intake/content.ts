/** The parts of a request other than its body: headers, query, and the sender's id of the delivery. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Call } from "portico";
import type { Verifier } from "./signatures.ts";

export function readHeaders(req: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of Object.keys(req.headers)) {
    const value = req.headers[name];
    headers[name] = Array.isArray(value) ? value.join(", ") : (value ?? "");
  }
  return headers;
}

/** Returns the first value of each parameter. */
export function readQuery(call: Call): Record<string, string> {
  return call.req.url?.includes("?") ? Object.fromEntries([...call.query].reverse()) : {};
}

const ID_HEADERS = ["idempotency-key", "x-github-delivery", "webhook-id"];
/**
 * Schemes whose senders name their deliveries but sign no time, with the header of the event. If the name is missing, the
 * same body with the same event is the same delivery.
 */
const EVENT_HEADERS = new Map([
  ["github", "x-github-event"],
  ["shopify", "x-shopify-topic"],
]);

/** Returns an id by which repeated deliveries are recognised, or `undefined` if there is none. `body` never throws. */
export function findDeliveryId(
  headers: Readonly<Record<string, string>>,
  raw: Buffer,
  body: () => unknown,
  verifier: Verifier | undefined,
): string | undefined {
  // An id that a signature covers comes first, since a replay cannot change it.
  const signedId = verifier?.signedId?.({ headers, body: raw, now: 0 }, body);
  if (signedId) return `signed ${signedId}`;
  for (const name of [...ID_HEADERS, ...(verifier?.idHeaders ?? [])])
    if (headers[name]) return headers[name];
  if (headers["stripe-signature"]) {
    const id = (body() as { id?: unknown } | null | undefined)?.id;
    if (typeof id === "string" && id !== "") return id;
  }
  const eventHeader = verifier && EVENT_HEADERS.get(verifier.scheme);
  return eventHeader && `body ${computeHash(raw)} ${headers[eventHeader] ?? ""}`;
}

export function computeHash(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
