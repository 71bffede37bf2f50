/** Masks the secrets of requests in responses, and restores them when a client sends the masks back. */
import { isSecretHeader, MASK, maskAddress } from "portico";
import { errors } from "./errors.ts";
import type { PayloadSpec } from "./types.ts";

interface RequestParts {
  url?: string;
  secret?: string;
  headers?: Record<string, string>;
}

/** Masks the secrets in the address, the secret and the headers of a request. */
export function maskedRequest<R extends RequestParts>(request: R): R {
  const { url, secret, headers } = request;
  const maskedHeaders = Object.entries(headers ?? {}).map(([name, value]) => [
    name,
    isSecretHeader(name) ? MASK : value,
  ]);
  return {
    ...request,
    url: url && maskAddress(url),
    secret: secret && MASK,
    headers: headers && Object.fromEntries(maskedHeaders),
  };
}

/** Masks the secrets of a payload, which its delivery target may contain. */
export function maskedPayload(payload: PayloadSpec): PayloadSpec {
  if (payload.kind !== "agentTurn" || typeof payload.delivery !== "object") return payload;
  return { ...payload, delivery: maskedRequest(payload.delivery) };
}

/**
 * Replaces the masks in `next` by the secrets of `before`. `masked` is `before` as clients saw it. Throws 400 for a
 * mask without a secret.
 */
export function restoreMaskedSecrets<T>(
  next: T,
  masked: unknown,
  before: unknown,
  param: string,
): T {
  if (typeof next === "string") {
    if (!next.includes(MASK)) return next;
    if (next === masked && before !== undefined) return before as T;
    throw errors.maskedSecret({ param, mask: MASK }, { param });
  }
  if (typeof next !== "object" || next === null) return next;
  const memberOf = (value: unknown, key: string): unknown =>
    (value as Record<string, unknown> | undefined)?.[key];
  const entries = Object.entries(next).map(([key, value]) => [
    key,
    restoreMaskedSecrets(
      value,
      memberOf(masked, key),
      memberOf(before, key),
      Array.isArray(next) ? `${param}[${key}]` : `${param}.${key}`,
    ),
  ]);
  return Array.isArray(next)
    ? (entries.map(([, value]) => value) as T)
    : Object.fromEntries(entries);
}

/**
 * Restores the secrets of a payload that a client sent back with masks. `readBefore` is called only if there is a mask, so
 * that a payload whose secrets can no longer be decrypted can still be replaced.
 */
export function unmaskedPayload(
  next: PayloadSpec,
  readBefore: () => PayloadSpec | undefined,
): PayloadSpec {
  if (next.kind !== "agentTurn" || typeof next.delivery !== "object") return next;
  if (!JSON.stringify(next.delivery).includes(MASK)) return next;
  const before = readBefore();
  const previousDelivery = before?.kind === "agentTurn" ? before.delivery : undefined;
  const masked = typeof previousDelivery === "object" ? maskedRequest(previousDelivery) : undefined;
  return {
    ...next,
    delivery: restoreMaskedSecrets(next.delivery, masked, previousDelivery, "payload.delivery"),
  };
}
