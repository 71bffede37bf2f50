/** A sandbox in a browser that runs elsewhere: a context of its own there, which goes with the connection. */
import { startEgressProxy } from "portico/egress";
import { attach, type Attachment, type DriverDeps } from "../drivers/attach.ts";
import { createPeerCheck, knowsPeers, listenerGroup } from "../net/socket-owner.ts";
import type { Profile } from "../profiles.ts";

/** As `attach`, but apart from everything else in that browser. Where it is on this machine, our proxy judges its traffic. */
export async function attachContext(
  profile: Profile,
  deps: DriverDeps,
  asked: { headless?: boolean },
): Promise<Attachment> {
  const attachment = await attach(profile, deps, asked);
  if (!attachment.isLocal) return { ...attachment, ownContext: {} };
  const group = await groupOf(attachment);
  if (group === undefined)
    deps.log.warn(
      { profile: profile.name },
      "the browser's process cannot be identified on this system: its egress proxy serves every process of this machine",
    );
  const proxy = await startEgressProxy({
    guard: deps.guard,
    log: deps.log,
    isClient: group === undefined ? undefined : createPeerCheck(() => group),
  });
  return {
    ...attachment,
    // Not "enforced": WebRTC of a browser that somebody else started may go past the proxy.
    proxy,
    ownContext: { proxyUrl: proxy.url },
    async release() {
      await attachment.release();
      await proxy.close();
    },
  };
}

/** The group of processes that the browser is; one that we started leads its own. */
async function groupOf({ pid, wsUrl }: Attachment): Promise<number | undefined> {
  if (!knowsPeers) return undefined;
  if (pid !== undefined) return pid;
  const port = wsUrl === undefined ? 0 : Number(new URL(wsUrl).port);
  return port === 0 ? undefined : listenerGroup(port);
}
