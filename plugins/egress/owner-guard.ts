/** The policy for addresses that the owner wrote into the configuration. */
import { errors } from "./errors.ts";
import { parseUrl } from "portico/strings";
import { plainHost } from "./names.ts";
import { createGuard } from "./policy.ts";
import { addressesOf } from "./resolve.ts";
import type { Guard } from "./types.ts";

const fromOutside = createGuard({
  policy: () => ({ allowPrivate: false }),
  ownPorts: () => [],
  code: "address_blocked",
});

/**
 * The host of `configured` may be anywhere: on a private network, on this machine, a metadata service. The owner did not
 * choose where its redirects lead: any other host is judged like everything that comes from outside. Only for URLs that
 * the owner wrote.
 */
export function createOwnerGuard(configured: string | URL): Guard {
  const trusted = parseUrl(String(configured));
  if (trusted === undefined || !/^https?:$/.test(trusted.protocol))
    throw errors.notHttp({ param: "url" });
  const trustedHost = plainHost(trusted.hostname);
  /** The URL where it is the owner's; undefined where the guard has to judge it. */
  const ownUrl = (input: string | URL): URL | undefined => {
    const url = parseUrl(String(input));
    const isOwn =
      url !== undefined &&
      /^https?:$/.test(url.protocol) &&
      url.username + url.password === "" &&
      plainHost(url.hostname) === trustedHost;
    return isOwn ? url : undefined;
  };
  return {
    precheck: (input) => ownUrl(input) ?? fromOutside.precheck(input),
    async checkUrl(input) {
      const url = ownUrl(input);
      if (url === undefined) return fromOutside.checkUrl(input);
      return { url, addresses: [...(await addressesOf(plainHost(url.hostname)))] };
    },
    checkHost: (host, port, origin) => fromOutside.checkHost(host, port, origin),
  };
}
