/** What the channels of a gateway have around them: who hears of them, and who counts with them. */
import type { Logger, PluginContext, Workers } from "portico";
import type {} from "portico/cluster";
import type {} from "portico/store";
import type { SharedCounts } from "./limits/shared-limits.ts";

/** Told when a model of a channel begins to cool down; `until` is the time of the clock. */
export type CooldownListener = (cooldown: {
  channel: string;
  model: string;
  until: number;
  error: string;
}) => void;

/** What one process has learned and the others should know: a model, a key, or a key for a model that is not to be asked. */
export interface Lesson {
  channel: string;
  model?: string | undefined;
  /** A digest of the key. */
  key?: string | undefined;
  /** For how long from now; 0: it may be asked again. */
  ms: number;
}

export interface ChannelSurroundings {
  now?: (() => number) | undefined;
  onCooldown?: CooldownListener | undefined;
  /** Tells the others. */
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
