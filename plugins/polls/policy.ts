/** Where polls may go. */
import { isPorticoError, type PluginContext } from "portico";
import { createGuard, type Guard } from "portico/egress";
import type { PollBody } from "./poll.ts";
import type { PollsConfig } from "./schema.ts";

/** What an address looks like by itself, whatever the settings: `http://127.0.0.1:8080` and `http://nas/` are private. */
const plain = createGuard({ policy: () => ({ allowPrivate: false }), ownPorts: () => [], code: "address_blocked" });

function looksPrivate(url: string): boolean {
  try {
    plain.precheck(url);
    return false;
  } catch (error) {
    const reason = isPorticoError(error) ? error.details?.["reason"] : undefined;
    return reason === "private_address" || reason === "private_name";
  }
}

/**
 * Public addresses only, with one exception: the owner may write down a private address himself, and that origin is
 * then allowed for that poll. A redirect from elsewhere to a private address, and a public name that leads to one,
 * stay refused; so do, always, link-local and metadata addresses and the gateway's own ports. What the agent adds
 * gets no exception.
 */
export function guardOf(
  ctx: PluginContext,
  settings: PollsConfig,
  { source, origin, allowPrivateNetwork }: Pick<PollBody, "source" | "origin" | "allowPrivateNetwork">,
): Guard {
  const trusted = origin !== "agent";
  const { url } = source;
  const written = trusted && url !== undefined && URL.canParse(url) && looksPrivate(url);
  return createGuard({
    policy: () => ({
      allowPrivate: settings.allowPrivateNetwork || (trusted && allowPrivateNetwork === true),
      allowedHostnames: settings.allowedHostnames,
      hostnameAllowlist: settings.hostnameAllowlist,
      allowedOrigins: written ? [new URL(url).origin] : [],
    }),
    ownPorts: () => ctx.ports(),
    code: "address_blocked",
  });
}
