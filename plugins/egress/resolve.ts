/** Resolves the host of a URL to its addresses. */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { errors } from "./errors.ts";
import { isLoopbackName } from "./names.ts";
import type { LookupAll, ResolvedAddress } from "./types.ts";

export const systemLookup: LookupAll = async (hostname) =>
  (await lookup(hostname, { all: true, verbatim: true })).map(({ address, family }) => ({
    address,
    family: family === 6 ? 6 : 4,
  }));

/** Returns the addresses of a host. Throws 502 `name_not_resolved` if it has none. */
export async function resolveHost(
  host: string,
  resolve: LookupAll = systemLookup,
): Promise<readonly ResolvedAddress[]> {
  const literal = isIP(host.replace(/%.*$/s, ""));
  if (literal !== 0) return [{ address: host, family: literal === 6 ? 6 : 4 }];
  // Loopback names are never looked up (RFC 6761), as in browsers.
  if (isLoopbackName(host))
    return [
      { address: "127.0.0.1", family: 4 },
      { address: "::1", family: 6 },
    ];
  let addresses: readonly ResolvedAddress[] = [];
  let cause: unknown;
  try {
    addresses = await resolve(host);
  } catch (error) {
    cause = error;
  }
  if (addresses.length > 0) return addresses;
  throw errors.nameNotResolved({ host }, { details: { host }, cause });
}
