/** Where results may be posted. */
import type { PluginContext } from "portico";
import { createGuard, type Guard, writtenOrigins } from "portico/egress";
import type { DeliveryBody } from "./message.ts";
import type { DeliveriesConfig } from "./schema.ts";

/**
 * Public addresses only, with one exception: the owner may write down a private one, and that origin is then allowed. A
 * public name that leads to a private address stays refused; so do, always, metadata and link-local addresses and the
 * gateway's own ports. A target that another principal than the owner has named is reached at a public address only,
 * whatever the settings exempt.
 */
export function guardOf(
  ctx: Pick<PluginContext, "ports">,
  settings: DeliveriesConfig,
  { target: { url, publicOnly }, principal }: Pick<DeliveryBody, "target" | "principal">,
): Guard {
  const isOthers = publicOnly === true && principal !== "owner";
  const allowedOrigins = publicOnly === true ? [] : writtenOrigins(url);
  return createGuard({
    policy: () => ({
      allowPrivate: !isOthers && settings.allowPrivateNetwork,
      allowedHostnames: isOthers ? [] : settings.allowedHostnames,
      hostnameAllowlist: settings.hostnameAllowlist,
      allowedOrigins,
    }),
    ownPorts: () => ctx.ports(),
    code: "address_blocked",
  });
}
