/** What routes show of requests that hold secrets, and what it means when it comes back. */
import { isSecretHeader, MASK, maskAddress } from "portico";
import { errors } from "./errors.ts";
import type { PayloadSpec } from "./types.ts";

interface RequestParts {
  url?: string;
  secret?: string;
  headers?: Record<string, string>;
}

/** A request as it may be shown: its address, its secret, its headers. */
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

/** A payload as it may be shown: where its result is posted may hold secrets. */
export function maskedPayload(payload: PayloadSpec): PayloadSpec {
  if (payload.kind !== "agentTurn" || typeof payload.delivery !== "object") return payload;
  return { ...payload, delivery: maskedRequest(payload.delivery) };
}

/** `next` with the secrets of `before` in the place of their masks. Throws 400 for a mask without a secret. */
export function restoreMaskedSecrets<T>(
  next: T,
  shown: unknown,
  before: unknown,
  param: string,
): T {
  if (typeof next === "string") {
    if (!next.includes(MASK)) return next;
    if (next === shown && before !== undefined) return before as T;
    throw errors.maskedSecret({ param, mask: MASK }, { param });
  }
  if (typeof next !== "object" || next === null) return next;
  const at = (value: unknown, key: string): unknown =>
    (value as Record<string, unknown> | undefined)?.[key];
  const entries = Object.entries(next).map(([key, value]) => [
    key,
    restoreMaskedSecrets(
      value,
      at(shown, key),
      at(before, key),
      Array.isArray(next) ? `${param}[${key}]` : `${param}.${key}`,
    ),
  ]);
  return Array.isArray(next)
    ? (entries.map(([, value]) => value) as T)
    : Object.fromEntries(entries);
}

/**
 * A payload that may come back with masks in the place of secrets. `readBefore` is asked for them only where there is a
 * mask: a payload whose secrets can no longer be read can still be replaced.
 */
export function unmaskedPayload(
  next: PayloadSpec,
  readBefore: () => PayloadSpec | undefined,
): PayloadSpec {
  if (next.kind !== "agentTurn" || typeof next.delivery !== "object") return next;
  if (!JSON.stringify(next.delivery).includes(MASK)) return next;
  const before = readBefore();
  const known = before?.kind === "agentTurn" ? before.delivery : undefined;
  const masked = typeof known === "object" ? maskedRequest(known) : undefined;
  return {
    ...next,
    delivery: restoreMaskedSecrets(next.delivery, masked, known, "payload.delivery"),
  };
}
