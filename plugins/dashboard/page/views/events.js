/** The live feed. */
import { ago, fill, h, json } from "../dom.js";
import { events as seen, feed } from "../feed.js";

export const events = {
  id: "events",
  title: "Events",
  mount(root, signal) {
    const filter = h("input", {
      id: "filter",
      type: "search",
      placeholder: "message:, cron:fired, a session …",
      oninput: () => draw(),
    });
    const pause = h(
      "button",
      { type: "button", "aria-pressed": "false", onclick: toggle },
      "Pause",
    );
    const state = h("span", { class: "muted", role: "status" });
    const list = h("div", { class: "events" });
    root.replaceChildren(
      h("div", { class: "row" }, h("label", { for: "filter" }, "Only"), filter, pause, state),
      list,
    );

    function toggle() {
      const paused = pause.getAttribute("aria-pressed") !== "true";
      pause.setAttribute("aria-pressed", String(paused));
      draw();
    }
    function draw() {
      const paused = pause.getAttribute("aria-pressed") === "true";
      const text = paused ? "paused" : feed.state;
      if (state.textContent !== text) state.textContent = text;
      if (paused) return;
      const wanted = filter.value.trim().toLowerCase();
      const found = seen.filter(({ name, sessionKey }) =>
        `${name} ${sessionKey}`.toLowerCase().includes(wanted),
      );
      fill(
        list,
        ...(found.length > 0
          ? found.slice(0, 100).map(shown)
          : [h("p", { class: "empty" }, "Nothing yet. What happens from now on shows here.")]),
      );
    }
    let waiting = false;
    const soon = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        if (!signal.aborted) draw();
      });
    };
    addEventListener("portico:event", soon, { signal });
    draw();
  },
};

function shown({ key, name, sessionKey, timestamp, context, reply, block }) {
  const outcome =
    block !== undefined ? `blocked: ${block}` : reply !== undefined ? `answered: ${reply}` : "";
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
      outcome,
    ),
    json(context),
  );
}
