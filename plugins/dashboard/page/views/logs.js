/** The page of the log: the gateway's log lines, live, with filters by level, text and request. */
import { eventsOf, request } from "../api.js";
import { badge, clock, emptyText, entryLink, fill, h, readAddress } from "../dom.js";
import { filters } from "../filters.js";
import { pause } from "../rounds.js";

/** The numbers of lines that the page requests at first, keeps, and shows. */
const FIRST = 300;
const KEEP = 2000;
const SHOW = 300;
const DRAW_MS = 250;
const LONGEST_RETRY_MS = 15_000;

const { form } = filters({
  choices: [["level", "Minimum level", ["debug", "info", "warn", "error"]]],
  texts: [
    ["text", "Text"],
    ["request", "Request id"],
  ],
});

export const logs = {
  id: "logs",
  title: "Logs",
  tools: form,
  mount(root, signal) {
    const page = new LogPage(root, signal);
    page.start();
  },
};

class LogPage {
  constructor(root, signal) {
    this.signal = signal;
    /** The newest line comes first. */
    this.lines = [];
    this.count = 0;
    this.state = "connecting";
    this.stateText = h("span", { class: "muted", role: "status" });
    this.button = h(
      "button",
      { type: "button", "aria-pressed": "false", onclick: () => this.toggle() },
      "Pause",
    );
    this.list = h("ol", { class: "log-lines" });
    const bar = h("div", { class: "row" }, this.button, this.stateText);
    fill(root, h("section", {}, bar, this.list));
  }

  start() {
    const { signal } = this;
    addEventListener("portico:changed", () => this.applyFilters(), { signal });
    // A browser has six connections to a server, so a hidden tab must not hold one.
    const visibility = () => (document.hidden ? this.connection.abort() : this.connect());
    document.addEventListener("visibilitychange", visibility, { signal });
    this.connect();
    this.draw();
  }

  get isPaused() {
    return this.button.ariaPressed === "true";
  }

  toggle() {
    this.button.ariaPressed = String(!this.isPaused);
    this.button.textContent = this.isPaused ? "Follow" : "Pause";
    this.draw();
  }

  applyFilters() {
    // The gateway filters by level, the page by everything else.
    if ((readAddress().query.get("level") ?? "") !== this.level) this.connect();
    this.draw();
  }

  connect() {
    this.connection?.abort();
    this.connection = new AbortController();
    this.level = readAddress().query.get("level") ?? "";
    this.lines = [];
    void this.follow(AbortSignal.any([this.signal, this.connection.signal]));
  }

  /** Reads lines until the signal aborts, and reconnects when the stream ends. */
  async follow(signal) {
    const query = new URLSearchParams({ follow: "true", lines: FIRST });
    if (this.level !== "") query.set("level", this.level);
    for (let wait = 500; !signal.aborted; wait = Math.min(LONGEST_RETRY_MS, wait * 2)) {
      try {
        const answer = await request("GET", `/kernel/logs?${query}`, { signal });
        this.lines = [];
        this.setState("live");
        for await (const { data } of eventsOf(answer)) this.add(JSON.parse(data));
        this.setState("The stream has ended; reconnecting …");
      } catch (error) {
        if (signal.aborted) return;
        this.setState(`The stream was cut off: ${error.message}`);
      }
      await pause(wait, signal);
    }
  }

  add(line) {
    this.count += 1;
    this.lines.unshift({ ...line, key: `line-${this.count}` });
    if (this.lines.length > KEEP) this.lines.pop();
    this.drawSoon();
  }

  setState(state) {
    this.state = state;
    this.drawSoon();
  }

  drawSoon() {
    if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (!this.signal.aborted) this.draw();
    }, DRAW_MS);
  }

  draw() {
    const { query } = readAddress();
    const state = this.isPaused ? "paused" : this.state;
    if (this.stateText.textContent !== state) this.stateText.textContent = state;
    const choice = String(query);
    if (this.isPaused && choice === this.drawnChoice) return;
    this.drawnChoice = choice;
    const matching = this.lines.filter((line) => isMatch(line, query)).slice(0, SHOW);
    if (matching.length > 0) fill(this.list, ...matching.map(lineItem));
    else fill(this.list, h("li", {}, emptyText("No log line matches yet.")));
  }
}

const requestOf = ({ id, requestId }) => requestId ?? id;

function isMatch(line, query) {
  const text = query.get("text") ?? "";
  const requestId = query.get("request") ?? "";
  const isOfRequest = requestId === "" || String(requestOf(line) ?? "").includes(requestId);
  return isOfRequest && JSON.stringify(line).toLowerCase().includes(text.toLowerCase());
}

/** Fields that have a separate place in the line. */
const SHOWN_FIELDS = ["level", "time", "msg", "id", "requestId", "err", "key"];
/** Fields that form the headline of a request. */
const HEADLINE = ["method", "path", "status"];

const isRequest = ({ method, path }) => method !== undefined && path !== undefined;

function lineItem(line) {
  const { key, level, time, err } = line;
  const id = requestOf(line);
  // Only requests for models have a page.
  const isModelRequest = id !== undefined && line.model !== undefined;
  return h(
    "li",
    {},
    clock(time),
    h("span", {}, badge(level)),
    h(
      "div",
      { class: "log-text" },
      h("span", {}, headlineOf(line)),
      h(
        "div",
        { class: "muted small" },
        isModelRequest ? entryLink("requests", id) : id,
        " ",
        fieldsOf(line),
      ),
      err ? errorDetails(`${key}-error`, err) : null,
    ),
  );
}

/** Returns the message, or the request for lines of requests, which all have the same message. */
function headlineOf(line) {
  if (!isRequest(line)) return line.msg ?? "";
  return HEADLINE.map((name) => line[name] ?? "").join(" ");
}

function fieldsOf(line) {
  const shown = isRequest(line) ? [...SHOWN_FIELDS, ...HEADLINE] : SHOWN_FIELDS;
  return Object.entries(line)
    .filter(([name]) => !shown.includes(name))
    .map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(" ");
}

function errorDetails(key, { type, message, stack }) {
  return h(
    "details",
    { "data-key": key },
    h("summary", { class: "small" }, `${type ?? "Error"}: ${message ?? ""}`),
    stack ? h("pre", {}, stack) : null,
  );
}
