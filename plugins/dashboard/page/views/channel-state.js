/** How a channel does. What is wrong with it is decided by the gateway, for `portico status` and for each page alike. */
import { ago, badge, problem } from "../dom.js";

/** The state as a word; only a state that the gateway calls a problem looks like one. */
export function channelBadge({ state, problem: why }) {
  if (why) return badge(state, "bad");
  return badge(state, state === "ok" ? "good" : "dull");
}

const LIMITS = {
  budget: "its budget",
  requestsPerMinute: "its requests-per-minute limit",
  tokensPerMinute: "its tokens-per-minute limit",
};

/** The state, since when and why, and what is wrong. */
export function channelState(channel) {
  const { overLimit, restingUntil } = channel;
  return [
    channelBadge(channel),
    overLimit ? ` over ${LIMITS[overLimit] ?? overLimit}` : null,
    restingUntil ? [" tried again ", ago(restingUntil)] : null,
    problem(channel.problem),
  ];
}
