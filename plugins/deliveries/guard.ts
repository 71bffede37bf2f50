/** Where results may be posted. */
import type { PluginContext } from "portico";
import { createGuard, type Guard, writtenOrigins } from "portico/egress";
import type { DeliveryTarget } from "./message.ts";
import type { DeliveriesConfig } from "./schema.ts";

/**
 * Public addresses only, with one exception: the owner may write down a private one, and that origin is then allowed. A
 * public name that leads to a private address stays refused; so do, always, metadata and link-local addresses and the
 * gateway's own ports.
 */
export function guardOf(
  ctx: Pick<PluginContext, "ports">,
  settings: DeliveriesConfig,
  { url, publicOnly }: DeliveryTarget,
): Guard {
  const allowedOrigins = publicOnly === true ? [] : writtenOrigins(url);
  return createGuard({
    policy: () => ({
      allowPrivate: settings.allowPrivateNetwork,
      allowedHostnames: settings.allowedHostnames,
      hostnameAllowlist: settings.hostnameAllowlist,
      allowedOrigins,
    }),
    ownPorts: () => ctx.ports(),
    code: "address_blocked",
  });
}
