/** The live feed of the gateway's events: one connection for all views, and for all tabs that show this page. */
import { eventsOf, request } from "./api.js";
import { pause } from "./rounds.js";

const KEEP = 300;
/** The latest events, newest first. */
export const events = [];
export const feed = { state: "connecting" };
const tabs = new BroadcastChannel("portico.events");
let isRunning = false;
let isConnected = false;

/** Stays connected until the signal aborts. Further calls have no effect. */
export async function follow(signal) {
  if (isRunning) return;
  isRunning = true;
  signal.addEventListener("abort", () => {
    isRunning = false;
    events.length = 0;
  });
  // A browser opens six connections to a server. One feed per tab would leave none for the tabs' requests.
  if (!navigator.locks) return connect(signal, () => {});
  tabs.addEventListener("message", ({ data }) => receive(data), { signal });
  tabs.postMessage({ ask: true });
  const wait = navigator.locks.request("portico.events", { signal }, () =>
    connect(signal, (message) => tabs.postMessage(message)),
  );
  await wait.catch((error) => {
    if (!signal.aborted) throw error;
  });
}

/** Handles a message of another tab. */
function receive({ event, state, ask }) {
  if (event) add(event);
  if (state) setState(state);
  if (ask && isConnected) tabs.postMessage({ state: feed.state });
}

async function connect(signal, share) {
  isConnected = true;
  const shareState = (state) => {
    setState(state);
    share({ state });
  };
  for (let wait = 500; !signal.aborted; wait = Math.min(15_000, wait * 2)) {
    try {
      const answer = await request("GET", "/events", { signal });
      wait = 500;
      shareState("live");
      for await (const { data } of eventsOf(answer)) {
        const event = JSON.parse(data);
        add(event);
        share({ event });
      }
      shareState("The live feed has ended; reconnecting …");
    } catch (error) {
      if (signal.aborted) break;
      shareState(
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

function setState(state) {
  feed.state = state;
  dispatchEvent(new Event("portico:event"));
}
