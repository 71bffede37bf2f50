/** Where polls may go. */
import type { PluginContext } from "portico";
import { createGuard, type Guard, writtenOrigins } from "portico/egress";
import type { PollBody } from "./poll.ts";
import type { PollsConfig } from "./schema.ts";

/**
 * Public addresses only, with one exception: the owner may write down a private address himself, and that origin is
 * then allowed for that poll. A redirect from elsewhere to a private address, and a public name that leads to one,
 * stay refused; so do, always, link-local and metadata addresses and the gateway's own ports. What the agent adds
 * gets no exception.
 */
export function guardOf(
  ctx: PluginContext,
  settings: PollsConfig,
  {
    source,
    origin,
    allowPrivateNetwork,
  }: Pick<PollBody, "source" | "origin" | "allowPrivateNetwork">,
): Guard {
  const trusted = origin !== "agent";
  const allowedOrigins = trusted && source.url !== undefined ? writtenOrigins(source.url) : [];
  return createGuard({
    policy: () => ({
      allowPrivate: settings.allowPrivateNetwork || (trusted && allowPrivateNetwork === true),
      allowedHostnames: settings.allowedHostnames,
      hostnameAllowlist: settings.hostnameAllowlist,
      allowedOrigins,
    }),
    ownPorts: () => ctx.ports(),
    code: "address_blocked",
  });
}
