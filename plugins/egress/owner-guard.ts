/** The policy for addresses that the owner wrote into the configuration. */
import { errors } from "./errors.ts";
import { parseUrl } from "portico/strings";
import { plainHost } from "./names.ts";
import { createGuard } from "./policy.ts";
import { resolveHost } from "./resolve.ts";
import type { Guard } from "./types.ts";

const publicGuard = createGuard({
  policy: () => ({ allowPrivate: false }),
  ownPorts: () => [],
  code: "address_blocked",
});

/**
 * Creates a guard that allows every address of the host of `configured`: on a private network, on this machine, even a
 * metadata service. Any other host must be public, because the owner did not choose the targets of redirects. Use it only
 * for URLs that the owner wrote.
 */
export function createOwnerGuard(configured: string | URL): Guard {
  const trusted = parseUrl(String(configured));
  if (trusted === undefined || !/^https?:$/.test(trusted.protocol))
    throw errors.notHttp({ param: "url" });
  const trustedHost = plainHost(trusted.hostname);
  /** Returns the URL if its host is the owner's, or undefined if the guard must check it. */
  const parseOwnUrl = (input: string | URL): URL | undefined => {
    const url = parseUrl(String(input));
    const isOwn =
      url !== undefined &&
      /^https?:$/.test(url.protocol) &&
      url.username + url.password === "" &&
      plainHost(url.hostname) === trustedHost;
    return isOwn ? url : undefined;
  };
  return {
    precheck: (input) => parseOwnUrl(input) ?? publicGuard.precheck(input),
    async checkUrl(input) {
      const url = parseOwnUrl(input);
      if (url === undefined) return publicGuard.checkUrl(input);
      return { url, addresses: [...(await resolveHost(plainHost(url.hostname)))] };
    },
    checkHost: (host, port, origin) => publicGuard.checkHost(host, port, origin),
  };
}
