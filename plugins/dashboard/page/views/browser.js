/** The page of the browser: its tabs, and a picture of one of them. */
import { attempt, get, withTimeout, post, request } from "../api.js";
import { action, badge, emptyText, h, notice } from "../dom.js";
import { every } from "../rounds.js";

const TABS_MS = 3000;
const PICTURE_MS = 1500;

export const browser = {
  id: "browser",
  title: "Browser",
  mount(root, signal) {
    const page = new BrowserPage(signal);
    root.replaceChildren(page.element);
    void every(TABS_MS, signal, () => page.readTabs());
    void every(PICTURE_MS, signal, () => page.readPicture());
  },
};

class BrowserPage {
  constructor(signal) {
    this.signal = signal;
    /** The name of the profile; empty for the default one. */
    this.profile = "";
    this.bar = h("div", { class: "row" });
    this.tabs = h("div", { class: "tabs", role: "group", "aria-label": "Tabs" });
    this.picture = h("img", { class: "picture", alt: "Screenshot of the tab", hidden: true });
    this.notices = h("div", {});
    this.element = h("section", {}, this.bar, this.tabs, this.notices, this.picture);
    signal.addEventListener("abort", () => URL.revokeObjectURL(this.address));
  }

  query(more = {}) {
    return `?${new URLSearchParams({ profile: this.profile, ...more })}`;
  }

  async readTabs() {
    const { signal } = this;
    const [profiles, open] = await Promise.all([
      attempt(get("/dashboard/browser/profiles", { signal })),
      attempt(get(`/dashboard/browser/tabs${this.query()}`, { signal })),
    ]);
    const text = JSON.stringify([profiles, open, this.targetId, this.profile]);
    if (signal.aborted || text === this.drawnState) return;
    this.drawnState = text;
    const error = profiles.error ?? open.error;
    this.notices.replaceChildren(...(error ? [notice(error)] : []));
    if (error) return this.clear();
    this.draw(profiles.value.profiles, open.value);
  }

  draw(profiles, { running, tabs: all }) {
    if (!all.some(({ targetId }) => targetId === this.targetId)) this.targetId = undefined;
    this.bar.replaceChildren(
      h("label", { for: "profile" }, "Profile"),
      this.profileField(profiles),
      badge(running ? "running" : "stopped"),
      running ? this.switchButton("Stop", "stop") : this.switchButton("Start", "start"),
    );
    if (running) return this.tabs.replaceChildren(...all.map((tab) => this.tabButton(tab)));
    this.clearPicture();
    this.tabs.replaceChildren(emptyText("The browser is not running."));
  }

  profileField(profiles) {
    const isChosen = ({ name, isDefault }) =>
      this.profile === "" ? isDefault : name === this.profile;
    const onchange = ({ currentTarget }) => {
      this.profile = currentTarget.value;
      this.targetId = undefined;
      void this.readTabs();
    };
    const options = profiles.map((profile) =>
      h("option", { value: profile.name, selected: isChosen(profile) }, profile.name),
    );
    return h("select", { id: "profile", onchange }, options);
  }

  switchButton(label, verb) {
    return action(label, verb, async () => {
      await post(`/dashboard/browser/${verb}${this.query()}`);
      await this.readTabs();
    });
  }

  tabButton({ targetId, title, url }) {
    const onclick = () => {
      this.targetId = targetId === this.targetId ? undefined : targetId;
      void this.readTabs().then(() => this.readPicture());
    };
    return h(
      "button",
      { type: "button", "aria-pressed": String(targetId === this.targetId), onclick },
      h("strong", {}, title || "(no title)"),
      h("span", { class: "muted small" }, url),
    );
  }

  /** Reads a picture of the chosen tab, or else of the tab that was used last, which this does not change. */
  async readPicture() {
    if (this.tabs.querySelector("button") === null) return;
    const path = `/dashboard/browser/screenshot${this.query(this.targetId ? { targetId: this.targetId } : {})}`;
    const read = async (signal) => (await request("GET", path, { signal })).blob();
    const { value, error } = await attempt(withTimeout(read, this.signal));
    if (this.signal.aborted) return;
    this.notices.replaceChildren(...(error ? [notice(error)] : []));
    if (error) return this.clearPicture();
    const next = URL.createObjectURL(value);
    this.picture.src = next;
    this.picture.hidden = false;
    URL.revokeObjectURL(this.address);
    this.address = next;
  }

  clear() {
    this.bar.replaceChildren();
    this.tabs.replaceChildren();
    this.clearPicture();
  }

  clearPicture() {
    this.picture.hidden = true;
    this.picture.removeAttribute("src");
  }
}
