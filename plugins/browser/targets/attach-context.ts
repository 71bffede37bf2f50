/** A sandbox in a browser that runs elsewhere: a context of its own there, which goes with the connection. */
import { startEgressProxy } from "portico/egress";
import { attach, type Attachment, type DriverDeps } from "../drivers/attach.ts";
import type { Profile } from "../session/profiles.ts";

/** As `attach`, but apart from everything else in that browser. Where it is on this machine, our proxy judges its traffic. */
export async function attachContext(
  profile: Profile,
  deps: DriverDeps,
  asked: { headless?: boolean },
): Promise<Attachment> {
  const found = await attach(profile, deps, asked);
  if (!found.isLocal) return { ...found, ownContext: {} };
  const proxy = await startEgressProxy({ guard: deps.guard, log: deps.log });
  return {
    ...found,
    // Not "enforced": WebRTC of a browser that somebody else started may go past the proxy.
    proxy,
    ownContext: { proxyUrl: proxy.url },
    async release() {
      await found.release();
      await proxy.close();
    },
  };
}
