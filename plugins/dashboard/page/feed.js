/** The gateway's events as they happen; one connection for all views. */
import { eventsOf, request } from "./api.js";

const KEEP = 300;
/** Newest first. */
export const events = [];
export const feed = { state: "connecting" };
let running;

/** Keeps connected until the signal ends; later calls change nothing. */
export async function follow(signal) {
  if (running) return;
  running = true;
  signal.addEventListener("abort", () => {
    running = false;
    events.length = 0;
  });
  for (let wait = 500; !signal.aborted; wait = Math.min(15_000, wait * 2)) {
    try {
      const answer = await request("GET", "/events", { signal });
      wait = 500;
      tell("live");
      for await (const { data } of eventsOf(answer)) add(JSON.parse(data));
      tell("The feed has ended; connecting again …");
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 404) return tell(`There is no feed: ${error.message}`);
      tell(`The feed is cut: ${error.message}`);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

let count = 0;
function add(event) {
  events.unshift({ ...event, key: `event-${++count}` });
  if (events.length > KEEP) events.pop();
  dispatchEvent(new Event("portico:event"));
}

function tell(state) {
  feed.state = state;
  dispatchEvent(new Event("portico:event"));
}
