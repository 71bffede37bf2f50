/** The browser's tabs, and what one of them shows. */
import { attempt, get, inTime, post, request } from "../api.js";
import { action, badge, h, notice } from "../dom.js";
import { every } from "../rounds.js";

const TABS_MS = 3000;
const PICTURE_MS = 1500;

export const browser = {
  id: "browser",
  title: "Browser",
  mount(root, signal) {
    let profile = "";
    let chosen;
    let address;
    let last;
    const bar = h("div", { class: "row" });
    const tabs = h("div", { class: "tabs", role: "group", "aria-label": "Tabs" });
    const picture = h("img", { class: "picture", alt: "What the tab shows", hidden: true });
    const trouble = h("div", {});
    root.replaceChildren(h("section", {}, h("h2", {}, "Browser"), bar, tabs, trouble, picture));
    signal.addEventListener("abort", () => URL.revokeObjectURL(address));
    const query = (more = {}) => `?${new URLSearchParams({ profile, ...more })}`;

    async function look() {
      const [profiles, open] = await Promise.all([
        attempt(get("/dashboard/browser/profiles", { signal })),
        attempt(get(`/dashboard/browser/tabs${query()}`, { signal })),
      ]);
      const text = JSON.stringify([profiles, open, chosen, profile]);
      if (signal.aborted || text === last) return;
      last = text;
      const error = profiles.error ?? open.error;
      trouble.replaceChildren(...(error ? [notice(error)] : []));
      if (error) {
        bar.replaceChildren();
        tabs.replaceChildren();
        return clear();
      }
      const { running, tabs: all } = open.value;
      drawBar(profiles.value.profiles, running);
      if (!all.some(({ targetId }) => targetId === chosen)) chosen = undefined;
      tabs.replaceChildren(...all.map(tabButton));
      if (!running) {
        clear();
        tabs.replaceChildren(h("p", { class: "empty" }, "The browser is not running."));
      }
    }

    function drawBar(profiles, running) {
      const names = h(
        "select",
        {
          id: "profile",
          onchange: () => {
            profile = names.value;
            chosen = undefined;
            void look();
          },
        },
        profiles.map(({ name, isDefault }) =>
          h(
            "option",
            { value: name, selected: profile === "" ? isDefault : name === profile },
            name,
          ),
        ),
      );
      const press = (label, path) =>
        action(label, path, async () => {
          await post(`/dashboard/browser/${path}${query()}`);
          await look();
          return `${label}: done`;
        });
      bar.replaceChildren(
        h("label", { for: "profile" }, "Profile"),
        names,
        badge(running ? "running" : "stopped"),
        running ? press("Stop", "stop") : press("Start", "start"),
      );
    }

    function tabButton({ targetId, title, url }) {
      return h(
        "button",
        {
          type: "button",
          "aria-pressed": String(targetId === chosen),
          onclick: () => {
            chosen = targetId === chosen ? undefined : targetId;
            void look().then(shoot);
          },
        },
        h("strong", {}, title || "(no title)"),
        h("span", { class: "muted small" }, url),
      );
    }

    async function shoot() {
      if (tabs.querySelector("button") === null) return;
      // Without a tab the last used one is shown, and stays the last used one.
      const { value, error } = await attempt(
        inTime(async (signal) => {
          const which = query(chosen ? { targetId: chosen } : {});
          return (await request("GET", `/dashboard/browser/screenshot${which}`, { signal })).blob();
        }, signal),
      );
      if (signal.aborted) return;
      trouble.replaceChildren(...(error ? [notice(error)] : []));
      if (error) return clear();
      const next = URL.createObjectURL(value);
      picture.src = next;
      picture.hidden = false;
      URL.revokeObjectURL(address);
      address = next;
    }

    function clear() {
      picture.hidden = true;
      picture.removeAttribute("src");
    }

    void every(TABS_MS, signal, look);
    void every(PICTURE_MS, signal, shoot);
  },
};
