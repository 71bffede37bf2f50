/** The gateway's events as they happen; one connection for all views, and for all tabs that show this page. */
import { eventsOf, request } from "./api.js";
import { pause } from "./rounds.js";

const KEEP = 300;
/** Newest first. */
export const events = [];
export const feed = { state: "connecting" };
const tabs = new BroadcastChannel("portico.events");
let running;
let isConnected = false;

/** Keeps connected until the signal ends; later calls change nothing. */
export async function follow(signal) {
  if (running) return;
  running = true;
  signal.addEventListener("abort", () => {
    running = false;
    events.length = 0;
  });
  // A browser has six connections to a server: one for each tab's feed would leave none for what the tabs ask.
  if (!navigator.locks) return connect(signal, () => {});
  tabs.addEventListener("message", ({ data }) => hear(data), { signal });
  tabs.postMessage({ ask: true });
  const wait = navigator.locks.request("portico.events", { signal }, () =>
    connect(signal, (message) => tabs.postMessage(message)),
  );
  await wait.catch((error) => {
    if (!signal.aborted) throw error;
  });
}

function hear({ event, state, ask }) {
  if (event) add(event);
  if (state) tell(state);
  if (ask && isConnected) tabs.postMessage({ state: feed.state });
}

async function connect(signal, share) {
  isConnected = true;
  const tellAll = (state) => {
    tell(state);
    share({ state });
  };
  for (let wait = 500; !signal.aborted; wait = Math.min(15_000, wait * 2)) {
    try {
      const answer = await request("GET", "/events", { signal });
      wait = 500;
      tellAll("live");
      for await (const { data } of eventsOf(answer)) {
        const event = JSON.parse(data);
        add(event);
        share({ event });
      }
      tellAll("The live feed has ended; reconnecting …");
    } catch (error) {
      if (signal.aborted) break;
      tellAll(
        error.status === 404
          ? `The live feed is not available: ${error.message}`
          : `The live feed was interrupted: ${error.message}`,
      );
      if (error.status === 404) break;
    }
    await pause(wait, signal);
  }
  isConnected = false;
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
