/** Checks a target, as far as that is possible before a delivery is sent. */
import { createGuard } from "portico/egress";
import { errors } from "./errors.ts";
import type { DeliveryTarget } from "./message.ts";
import { checkSecret } from "./sign.ts";
import { checkTemplates } from "./templates.ts";

/** The headers that the transport and the signature set. */
const RESERVED_HEADERS =
  /^(host|connection|content-length|keep-alive|transfer-encoding|upgrade|webhook-.*)$/i;

/** Only a target with a body of its own may set the content type. */
const isReservedHeader = (name: string, { body }: DeliveryTarget): boolean =>
  RESERVED_HEADERS.test(name) || (body === undefined && /^content-type$/i.test(name));

/** The guard with the most permissive settings, which refuses only addresses that no settings allow. */
const mostPermissiveGuard = createGuard({
  policy: () => ({ allowPrivate: true }),
  ownPorts: () => [],
  code: "address_blocked",
});

/**
 * Throws `invalid_request_error` for an invalid target, and `address_blocked` for an address that no settings allow.
 * `param` is the path of the target in errors. The service `deliveries` also checks against the settings; host names are
 * resolved, and the gateway's own ports refused, when a delivery is sent.
 */
export function checkTarget(target: DeliveryTarget, param: string): void {
  checkTemplates(target, param);
  mostPermissiveGuard.precheck(target.url);
  checkSecret(target.secret, `${param}.secret`);
  for (const [name, value] of Object.entries(target.headers ?? {})) {
    if (
      /^[\w!#$%&'*+.^`|~-]+$/.test(name) &&
      !isReservedHeader(name, target) &&
      /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
    )
      continue;
    const key = `${param}.headers.${name}`;
    throw errors.badHeader({ key }, { param: key });
  }
}
