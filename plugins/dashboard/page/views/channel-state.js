/** The state of a channel. The gateway decides what is a problem, so that `portico status` and all pages agree. */
import { ago, badge, problem } from "../dom.js";

/** Shows the state as a word. Only a state that the gateway reports as a problem has the colour of one. */
export function channelBadge({ state, problem: reason }) {
  if (reason) return badge(state, "bad");
  return badge(state, state === "ok" ? "good" : "dull");
}

const LIMITS = {
  budget: "its budget",
  requestsPerMinute: "its requests-per-minute limit",
  tokensPerMinute: "its tokens-per-minute limit",
};

/** Shows the state, the limit that is exceeded, the time of the next attempt, and the problem. */
export function channelState(channel) {
  const { overLimit, restingUntil } = channel;
  return [
    channelBadge(channel),
    overLimit ? ` over ${LIMITS[overLimit] ?? overLimit}` : null,
    restingUntil ? [" next attempt ", ago(restingUntil)] : null,
    problem(channel.problem),
  ];
}
