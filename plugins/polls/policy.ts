/** Decides which addresses polls may reach. */
import { isPorticoError, type PluginContext, PorticoError } from "portico";
import { createGuard, type Guard, writtenOrigins } from "portico/egress";
import type { PollBody } from "./poll.ts";
import type { PollsConfig } from "./schema.ts";

/**
 * Returns the guard of a poll. Polls reach public addresses only, with one exception: if the owner writes a private
 * address, that origin is allowed for that poll. Redirects to private addresses and public names that resolve to one stay
 * refused, and link-local and metadata addresses and the gateway's own ports are always refused. Polls that the agent adds
 * get no exception, and those of other principals reach public addresses only, regardless of exemptions in the settings.
 */
export const createPollGuard = (
  ctx: PluginContext,
  settings: PollsConfig,
  poll: GuardedPoll,
): Guard => createGuardWithPorts(settings, poll, () => ctx.ports());

type GuardedPoll = Pick<PollBody, "source" | "origin" | "createdBy" | "allowPrivateNetwork">;

/** Returns the guard of a poll without a running gateway. `ownPorts` returns the ports on which the gateway listens. */
export function createGuardWithPorts(
  settings: PollsConfig,
  { source, origin, createdBy = "owner", allowPrivateNetwork }: GuardedPoll,
  ownPorts: () => readonly number[],
): Guard {
  const isOwners = createdBy === "owner";
  const isTrusted = isOwners && origin !== "agent";
  const allowedOrigins = isTrusted && source.url !== undefined ? writtenOrigins(source.url) : [];
  return createGuard({
    policy: () => ({
      allowPrivate:
        (isOwners && settings.allowPrivateNetwork) || (isTrusted && allowPrivateNetwork === true),
      allowedHostnames: isOwners ? settings.allowedHostnames : [],
      hostnameAllowlist: settings.hostnameAllowlist,
      allowedOrigins,
    }),
    ownPorts,
    code: "address_blocked",
  });
}

/** Validates the address of a source. Throws the guard's error with the member of the definition as `param`. */
export function checkAddress(guard: Pick<Guard, "precheck">, url: string): void {
  try {
    guard.precheck(url);
  } catch (cause) {
    if (!isPorticoError(cause)) throw cause;
    const { code, message, status, details } = cause;
    throw new PorticoError(code, message, { status, details, param: "source.url", cause });
  }
}
