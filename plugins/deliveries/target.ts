/** Whether a result may be posted somewhere, as far as can be said before anything is sent. */
import { PorticoError } from "portico";
import { createGuard } from "portico/egress";
import type { DeliveryTarget } from "./message.ts";
import { checkSecret } from "./sign.ts";

/** What the transport and the signature set. */
const OWN_HEADERS =
  /^(host|connection|content-length|content-type|keep-alive|transfer-encoding|upgrade|webhook-.*)$/i;

const guard = (allowPrivate: boolean) =>
  createGuard({ policy: () => ({ allowPrivate }), ownPorts: () => [], code: "address_blocked" });
const publicOnly = guard(false);
const anywhere = guard(true);

/**
 * Throws `invalid_request_error` for what is no target, and `address_blocked` for an address that is never delivered to;
 * `param` is where it stands. Names are looked up, and our own ports refused, when it is sent.
 */
export function checkTarget(target: DeliveryTarget, param: string): void {
  (target.publicOnly ? publicOnly : anywhere).precheck(target.url);
  checkSecret(target.secret, `${param}.secret`);
  for (const [name, value] of Object.entries(target.headers ?? {})) {
    if (
      /^[\w!#$%&'*+.^`|~-]+$/.test(name) &&
      !OWN_HEADERS.test(name) &&
      /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
    )
      continue;
    const at = `${param}.headers.${name}`;
    throw new PorticoError("invalid_request_error", `${at} is no header that can be sent.`, {
      param: at,
    });
  }
}
