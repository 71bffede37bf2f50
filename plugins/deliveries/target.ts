/** Whether a result may be posted somewhere, as far as is known before anything is sent. */
import { createGuard } from "portico/egress";
import { errors } from "./errors.ts";
import type { DeliveryTarget } from "./message.ts";
import { checkSecret } from "./sign.ts";
import { checkTemplates } from "./templates.ts";

/** What the transport and the signature set. */
const OWN_HEADERS =
  /^(host|connection|content-length|keep-alive|transfer-encoding|upgrade|webhook-.*)$/i;

/** A target that has a body of its own may name its type. */
const isOwnHeader = (name: string, { body }: DeliveryTarget): boolean =>
  OWN_HEADERS.test(name) || (body === undefined && /^content-type$/i.test(name));

/** Refuses what no setting allows. */
const anywhere = createGuard({
  policy: () => ({ allowPrivate: true }),
  ownPorts: () => [],
  code: "address_blocked",
});

/**
 * Throws `invalid_request_error` for what is no target, and `address_blocked` for an address that is never delivered to;
 * `param` is where it stands. The service `deliveries` checks against the settings as well; names are looked up, and our
 * own ports refused, when it is sent.
 */
export function checkTarget(target: DeliveryTarget, param: string): void {
  checkTemplates(target, param);
  anywhere.precheck(target.url);
  checkSecret(target.secret, `${param}.secret`);
  for (const [name, value] of Object.entries(target.headers ?? {})) {
    if (
      /^[\w!#$%&'*+.^`|~-]+$/.test(name) &&
      !isOwnHeader(name, target) &&
      /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
    )
      continue;
    const at = `${param}.headers.${name}`;
    throw errors.badHeader({ key: at }, { param: at });
  }
}
