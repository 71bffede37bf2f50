/** Converts ids of tool calls between the gateway's form (`call_…`) and the upstream's, without state. */
import { createHash, randomBytes } from "node:crypto";

/** The prefix of ids that the gateway has generated because the upstream had none. */
const MINTED_PREFIX = "call_0p";

/** Converts an upstream's id for the client; a fresh one if there is none. {@link upstreamCallId} reverses it. */
export function clientCallId(upstreamId: string | undefined): string {
  return upstreamId ? `call_${upstreamId}` : mintCallId();
}

/** Returns a fresh id, for upstreams that send none. */
export function mintCallId(): string {
  return MINTED_PREFIX + randomBytes(12).toString("hex");
}

/** True for an id from {@link mintCallId}, which the upstream has never seen. */
export function isMintedCallId(id: string): boolean {
  return id.startsWith(MINTED_PREFIX);
}

/**
 * Converts a client's id, which may come from another provider, to the upstream's. The result always matches
 * `[A-Za-z0-9_-]+`: any other id is replaced by its hash, which is the same for the call and its result.
 */
export function upstreamCallId(id: string): string {
  const unprefixed = id.startsWith("call_") && id.length > 5 ? id.slice(5) : id;
  return /^[A-Za-z0-9_-]{1,64}$/.test(unprefixed)
    ? unprefixed
    : `h${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;
}

const ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** As `upstreamCallId`, for upstreams that require exactly `length` letters and digits (Mistral: 9). */
export function shortCallId(id: string, length: number): string {
  const unprefixed = id.startsWith("call_") ? id.slice(5) : id;
  if (unprefixed.length === length && /^[A-Za-z0-9]+$/.test(unprefixed)) return unprefixed;
  const hash = createHash("sha256").update(id).digest();
  return Array.from(
    hash.subarray(0, length),
    (byte) => ALPHANUMERIC[byte % ALPHANUMERIC.length],
  ).join("");
}
