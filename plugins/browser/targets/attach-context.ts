/**
 * Runs a sandbox in a browser that was started elsewhere: in a separate browser context, which ends with the
 * connection.
 */
import { startEgressProxy } from "portico/egress";
import { attach, type Attachment, type DriverDeps } from "../drivers/attach.ts";
import { createPeerCheck, canIdentifyPeers, findListenerGroup } from "../net/socket-owner.ts";
import type { Profile } from "../profiles.ts";

/**
 * Acts like `attach`, but isolates the session in its own browser context. If the browser is on this machine, our proxy
 * filters its traffic.
 */
export async function attachContext(
  profile: Profile,
  deps: DriverDeps,
  options: { headless?: boolean },
): Promise<Attachment> {
  const attachment = await attach(profile, deps, options);
  if (!attachment.isLocal) return { ...attachment, ownContext: {} };
  const group = await groupOf(attachment);
  if (group === undefined)
    deps.log.warn(
      { profile: profile.name },
      "the browser's process cannot be identified on this system, so the browser's egress proxy accepts connections from every process on this machine",
    );
  const proxy = await startEgressProxy({
    guard: deps.guard,
    log: deps.log,
    isClient: group === undefined ? undefined : createPeerCheck(() => group),
  });
  return {
    ...attachment,
    // Not "enforced", because WebRTC of a browser that another program started may bypass the proxy.
    proxy,
    ownContext: { proxyUrl: proxy.url },
    async release() {
      await attachment.release();
      await proxy.close();
    },
  };
}

/** Returns the process group of the browser, which leads its own group if we started it. */
async function groupOf({ pid, wsUrl }: Attachment): Promise<number | undefined> {
  if (!canIdentifyPeers) return undefined;
  if (pid !== undefined) return pid;
  const port = wsUrl === undefined ? 0 : Number(new URL(wsUrl).port);
  return port === 0 ? undefined : findListenerGroup(port);
}
