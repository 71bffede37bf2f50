/** The services that channels use: events, other processes, and shared counts. */
import type { Logger, PluginContext, Workers } from "portico";
import type {} from "portico/cluster";
import type {} from "portico/store";
import type { SharedCounts } from "./limits/shared-limits.ts";

/** Called when a model of a channel begins to cool down; `until` is in milliseconds since 1970. */
export type CooldownListener = (cooldown: {
  channel: string;
  model: string;
  until: number;
  error: string;
}) => void;

/** A message from one process to the others: a model, a key, or a key for a model is in cooldown, or no longer is. */
export interface CooldownMessage {
  channel: string;
  model?: string | undefined;
  /** Digest of the key. */
  key?: string | undefined;
  /** Duration of the cooldown from now; 0 ends it. */
  ms: number;
}

export interface ChannelServices {
  now?: (() => number) | undefined;
  onCooldown?: CooldownListener | undefined;
  /** Sends a message to the other processes. */
  shareCooldown?: ((message: CooldownMessage) => void) | undefined;
  counts?: SharedCounts | undefined;
  workers?: (() => Workers | undefined) | undefined;
  log?: Logger | undefined;
}

export function createChannelServices(
  ctx: Pick<PluginContext, "emit" | "find" | "log">,
): ChannelServices {
  return {
    log: ctx.log,
    onCooldown({ until, ...rest }) {
      void ctx.emit(
        "channel:resting",
        { ...rest, until: new Date(until).toISOString() },
        { principal: "owner" },
      );
    },
    shareCooldown: (message) => ctx.find("cluster")?.tell("channels", message),
    workers: () => ctx.find("workers"),
    counts() {
      const store = ctx.find("store");
      return store === undefined || store.sharedBy === "nobody" ? undefined : store;
    },
  };
}
