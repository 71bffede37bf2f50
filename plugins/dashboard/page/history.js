/** The channels over time, as this page saw them: the gateway itself keeps no history. */
import { attempt, get } from "./api.js";

const KEEP = 100;
const history = new Map();

/** Asks once more. Answers what `attempt` gives, each channel with its `latency` and `failed` so far. */
export async function sampleChannels() {
  const result = await attempt(get("/channels"));
  if (result.error) return result;
  for (const channel of result.value.channels) {
    const known = history.get(channel.name) ?? { latency: [], failed: [], errors: channel.errors };
    push(known.latency, channel.latencyMs);
    push(known.failed, Math.max(0, channel.errors - known.errors));
    known.errors = channel.errors;
    history.set(channel.name, known);
  }
  return result;
}

export const historyOf = (name) => history.get(name) ?? { latency: [], failed: [] };

function push(list, value) {
  list.push(value);
  if (list.length > KEEP) list.shift();
}
