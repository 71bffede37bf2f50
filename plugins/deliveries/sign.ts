/** Signatures by Standard Webhooks: `webhook-id`, `webhook-timestamp` and, with a secret, `webhook-signature`. */
import { createHmac } from "node:crypto";
import { errors } from "./errors.ts";

const MIN_KEY_BYTES = 16;

/** Returns the headers of a delivery, with one signature over the sent `body`. `now` is in milliseconds since 1970. */
export function createSignedHeaders(
  id: string,
  body: string,
  secret: string | undefined,
  now: number,
): Record<string, string> {
  const time = String(Math.floor(now / 1000));
  const headers = { "webhook-id": id, "webhook-timestamp": time };
  if (secret === undefined) return headers;
  const signature = createHmac("sha256", decodeKey(secret))
    .update(`${id}.${time}.${body}`)
    .digest("base64");
  return { ...headers, "webhook-signature": `v1,${signature}` };
}

/** Throws `invalid_request_error` for a secret that is no key: `whsec_` and Base64, as the receivers' libraries take it. */
export function checkSecret(secret: string | undefined, param: string): void {
  if (secret === undefined) return;
  const text = secret.replace(/^whsec_/, "");
  if (/^[A-Za-z0-9+/_-]*={0,2}$/.test(text) && decodeKey(secret).length >= MIN_KEY_BYTES) return;
  throw errors.badSecret({ key: param, bytes: MIN_KEY_BYTES }, { param });
}

function decodeKey(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ""), "base64");
}
