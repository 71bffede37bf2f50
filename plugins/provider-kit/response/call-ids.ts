/** Converts ids of tool calls between the gateway's form (`call_…`) and the upstream's, without keeping state. */
import { createHash, randomBytes } from "node:crypto";

/** Marks an id that we made up because the upstream had none. */
const MINTED = "call_0p";

/** An upstream's id as the client sees it; a fresh one where it has none. Taken back by {@link upstreamCallId}. */
export function clientCallId(upstreamId: string | undefined): string {
  return upstreamId ? `call_${upstreamId}` : mintCallId();
}

/** A fresh id, for upstreams that give none. */
export function mintCallId(): string {
  return MINTED + randomBytes(12).toString("hex");
}

/** True for an id of {@link mintCallId}: the upstream never knew it. */
export function isMintedCallId(id: string): boolean {
  return id.startsWith(MINTED);
}

/**
 * The upstream's id behind a client's, which may also stem from another provider. Always matches `[A-Za-z0-9_-]+`; one
 * that would not is replaced by a hash, the same for the call and its result.
 */
export function upstreamCallId(id: string): string {
  const bare = id.startsWith("call_") && id.length > 5 ? id.slice(5) : id;
  return /^[A-Za-z0-9_-]{1,64}$/.test(bare)
    ? bare
    : `h${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;
}

const ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** The same for upstreams that require exactly `length` letters and digits (Mistral: 9). */
export function shortCallId(id: string, length: number): string {
  const bare = id.startsWith("call_") ? id.slice(5) : id;
  if (bare.length === length && /^[A-Za-z0-9]+$/.test(bare)) return bare;
  const hash = createHash("sha256").update(id).digest();
  return Array.from(
    hash.subarray(0, length),
    (byte) => ALPHANUMERIC[byte % ALPHANUMERIC.length],
  ).join("");
}
