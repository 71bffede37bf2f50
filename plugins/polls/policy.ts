/** Where polls may go. */
import { isPorticoError, type PluginContext, PorticoError } from "portico";
import { createGuard, type Guard, writtenOrigins } from "portico/egress";
import type { PollBody } from "./poll.ts";
import type { PollsConfig } from "./schema.ts";

/**
 * Public addresses only, with one exception: the owner may write down a private address himself, and that origin is
 * then allowed for that poll. A redirect from elsewhere to a private address, and a public name that leads to one,
 * stay refused; so do, always, link-local and metadata addresses and the gateway's own ports. What the agent adds
 * gets no exception, and what another principal adds reaches public addresses only, whatever the settings exempt.
 */
export const guardOf = (ctx: PluginContext, settings: PollsConfig, poll: GuardedPoll): Guard =>
  guardFor(settings, poll, () => ctx.ports());

type GuardedPoll = Pick<PollBody, "source" | "origin" | "createdBy" | "allowPrivateNetwork">;

/** The same without a running gateway: `ownPorts` are those that it listens on. */
export function guardFor(
  settings: PollsConfig,
  { source, origin, createdBy = "owner", allowPrivateNetwork }: GuardedPoll,
  ownPorts: () => readonly number[],
): Guard {
  const isOwners = createdBy === "owner";
  const trusted = isOwners && origin !== "agent";
  const allowedOrigins = trusted && source.url !== undefined ? writtenOrigins(source.url) : [];
  return createGuard({
    policy: () => ({
      allowPrivate:
        (isOwners && settings.allowPrivateNetwork) || (trusted && allowPrivateNetwork === true),
      allowedHostnames: isOwners ? settings.allowedHostnames : [],
      hostnameAllowlist: settings.hostnameAllowlist,
      allowedOrigins,
    }),
    ownPorts,
    code: "address_blocked",
  });
}

/** Judges the address of a source. Throws as the guard does, with the place in the definition as `param`. */
export function checkAddress(guard: Pick<Guard, "precheck">, url: string): void {
  try {
    guard.precheck(url);
  } catch (cause) {
    if (!isPorticoError(cause)) throw cause;
    const { code, message, status, details } = cause;
    throw new PorticoError(code, message, { status, details, param: "source.url", cause });
  }
}
