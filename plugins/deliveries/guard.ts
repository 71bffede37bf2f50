/** Decides to which addresses results may be posted. */
import type { PluginContext } from "portico";
import { createGuard, type Guard, writtenOrigins } from "portico/egress";
import type { DeliveryBody } from "./message.ts";
import type { DeliveriesConfig } from "./schema.ts";

/**
 * Creates the guard of a delivery. It allows public addresses, those that the settings exempt, and the origin of a private
 * address that the owner has written as the target's URL. It refuses a public name that resolves to a private address, and
 * always metadata and link-local addresses and the gateway's own ports. A target that another principal than the owner has
 * named must have a public address, whatever the settings exempt.
 */
export function createDeliveryGuard(
  ctx: Pick<PluginContext, "ports">,
  settings: DeliveriesConfig,
  { target: { url, publicOnly }, principal }: Pick<DeliveryBody, "target" | "principal">,
): Guard {
  const isForeign = publicOnly === true && principal !== "owner";
  const allowedOrigins = publicOnly === true ? [] : writtenOrigins(url);
  return createGuard({
    policy: () => ({
      allowPrivate: !isForeign && settings.allowPrivateNetwork,
      allowedHostnames: isForeign ? [] : settings.allowedHostnames,
      hostnameAllowlist: settings.hostnameAllowlist,
      allowedOrigins,
    }),
    ownPorts: () => ctx.ports(),
    code: "address_blocked",
  });
}
