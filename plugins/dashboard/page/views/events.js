/** The page of events: the gateway's events, live. */
import { ago, fill, h, json, readAddress } from "../dom.js";
import { events as received, feed } from "../feed.js";
import { filters } from "../filters.js";

const SHOW = 100;

const { form } = filters({
  choices: [],
  texts: [
    ["event", "Event"],
    ["session", "Session"],
  ],
});

export const events = {
  id: "events",
  title: "Events",
  tools: form,
  mount(root, signal) {
    const button = h(
      "button",
      { type: "button", "aria-pressed": "false", onclick: toggle },
      "Pause",
    );
    const state = h("span", { class: "muted", role: "status" });
    const list = h("div", { class: "events" });
    fill(root, h("section", {}, h("div", { class: "row" }, button, state), list));
    const isPaused = () => button.ariaPressed === "true";

    function toggle() {
      button.ariaPressed = String(!isPaused());
      button.textContent = isPaused() ? "Follow" : "Pause";
      draw();
    }

    function draw() {
      const text = isPaused() ? "paused" : feed.state;
      if (state.textContent !== text) state.textContent = text;
      if (!isPaused()) fill(list, ...itemsOf(readAddress().query));
    }

    let isPlanned = false;
    const drawSoon = () => {
      if (isPlanned) return;
      isPlanned = true;
      requestAnimationFrame(() => {
        isPlanned = false;
        if (!signal.aborted) draw();
      });
    };
    addEventListener("portico:event", drawSoon, { signal });
    addEventListener("portico:changed", drawSoon, { signal });
    draw();
  },
};

function itemsOf(query) {
  const has = (text, name) => text.toLowerCase().includes((query.get(name) ?? "").toLowerCase());
  const matching = received.filter(
    ({ name, sessionKey }) => has(name, "event") && has(sessionKey ?? "", "session"),
  );
  if (matching.length > 0) return matching.slice(0, SHOW).map(eventItem);
  return [h("p", { class: "empty" }, "No events yet. New events will appear here.")];
}

function eventItem(event) {
  const { key, name, sessionKey, timestamp, context } = event;
  return h(
    "details",
    { "data-key": key },
    h(
      "summary",
      { "data-key": `${key}-summary` },
      ago(timestamp),
      " ",
      h("strong", {}, name),
      " ",
      h("span", { class: "muted" }, sessionKey),
      " ",
      outcomeOf(event),
    ),
    json(context),
  );
}

function outcomeOf({ block, reply }) {
  if (block !== undefined) return `blocked: ${block}`;
  return reply === undefined ? "" : `answered: ${reply}`;
}
