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

/** Passes from one process to the others: do not use a model, a key, or a key for a model. */
export interface Lesson {
  channel: string;
  model?: string | undefined;
  /** A digest of the key. */
  key?: string | undefined;
  /** For how long from now; 0: it may be used again. */
  ms: number;
}

export interface ChannelSurroundings {
  now?: (() => number) | undefined;
  onCooldown?: CooldownListener | undefined;
  /** Sends it to the other processes. */
  teach?: ((lesson: Lesson) => void) | undefined;
  counts?: SharedCounts | undefined;
  workers?: (() => Workers | undefined) | undefined;
  log?: Logger | undefined;
}

export function channelSurroundings(
  ctx: Pick<PluginContext, "emit" | "find" | "log">,
): ChannelSurroundings {
  return {
    log: ctx.log,
    onCooldown({ until, ...rest }) {
      void ctx.emit(
        "channel:resting",
        { ...rest, until: new Date(until).toISOString() },
        { principal: "owner" },
      );
    },
    teach: (lesson) => ctx.find("cluster")?.tell("channels", lesson),
    workers: () => ctx.find("workers"),
    counts() {
      const store = ctx.find("store");
      return store === undefined || store.sharedBy === "nobody" ? undefined : store;
    },
  };
}
