/** Elements from values. Text only ever becomes text: nothing here takes markup. */

/** `h("button", { onclick, class: "x", disabled: true }, "text", [nodes])`; null, false and undefined are left out. */
export function h(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return dress(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function dress(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(3).filter((child) => child !== undefined && child !== null && child !== false),
  );
  return element;
}

/**
 * Replaces what `root` shows, and keeps the focus and what was opened where the same `data-key` is there again. A focus
 * whose place has gone is the page's, so that whoever goes by keys need not begin at the top.
 */
export function fill(root, ...nodes) {
  const focused = root.contains(document.activeElement)
    ? document.activeElement.dataset.key
    : undefined;
  const open = new Set(
    [...root.querySelectorAll("details[open][data-key]")].map((each) => each.dataset.key),
  );
  root.replaceChildren(...nodes);
  for (const each of root.querySelectorAll("details[data-key]"))
    if (open.has(each.dataset.key)) each.open = true;
  if (focused === undefined) return;
  const again =
    root.querySelector(`[data-key="${CSS.escape(focused)}"]`) ?? document.getElementById("main");
  again.focus({ preventScroll: true });
}

/** Says something to everyone, screen readers among them, for a while. */
export function say(text, isError = false) {
  const place = document.getElementById("said");
  place.textContent = text;
  place.className = isError ? "bad" : "good";
  clearTimeout(say.timer);
  say.timer = setTimeout(() => {
    place.textContent = "";
    place.className = "";
  }, 6000);
}

/** A button that does something slow: off meanwhile, though it keeps the focus, and the outcome is said. */
export function action(label, key, work, attributes = {}) {
  const onclick = async ({ currentTarget: button }) => {
    if (button.ariaDisabled) return;
    button.ariaDisabled = "true";
    try {
      const done = await work();
      say(typeof done === "string" ? done : `${label}: done`);
      dispatchEvent(new Event("portico:changed"));
    } catch (error) {
      say(error.message, true);
    } finally {
      button.ariaDisabled = null;
    }
  };
  return h("button", { type: "button", "data-key": key, ...attributes, onclick }, label);
}

/** A table that becomes a list of cards on a narrow screen. `columns`: `[title, row => child, class?]`. */
export function table(columns, rows, empty) {
  if (rows.length === 0) return h("p", { class: "empty" }, empty);
  return h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        columns.map(([title, , kind]) => h("th", { scope: "col", class: kind }, title)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          {},
          columns.map(([title, cell, kind]) =>
            h("td", { "data-title": title, class: kind }, h("div", {}, cell(row))),
          ),
        ),
      ),
    ),
  );
}

/** A titled part of a page; where its route failed, it says so. `result` is what `attempt` gave. */
export function section(title, result, render, ...aside) {
  const { error } = result;
  return titled(title, aside, error === undefined ? render(result.value) : notice(error));
}

/** The same for one thing of a list, which may be none of it. */
export function opened(title, result, render, ...aside) {
  if (result.error?.status === 404)
    return titled(title, [], h("p", { class: "notice" }, result.error.message));
  return section(title, result, render, ...aside);
}

const titled = (title, aside, body) =>
  h("section", {}, h("div", { class: "title" }, h("h2", {}, title), aside), body);

export function notice(error) {
  if (error.status === 404 || error.status === 503) {
    return h(
      "p",
      { class: "notice" },
      `This part of the gateway is not there now: ${error.message}`,
    );
  }
  return h("p", { class: "notice bad" }, error.message);
}

const GOOD = /^(ok|active|done|enabled|accepted|running|ready|changed|baseline|unchanged|200)$/;
const BAD = /^(failed|error|dead|refused|resting|failing|timeout|unauthorized|not ready|rejected)$/;

/** A word for a state, in a colour that helps and is not needed. */
export function badge(state) {
  const kind = GOOD.test(state) ? "good" : BAD.test(state) ? "bad" : "dull";
  return h("span", { class: `badge ${kind}` }, String(state));
}

export function problem(text) {
  return text ? h("p", { class: "problem" }, String(text)) : null;
}

/** The beginning of a text, all of it as its title. */
export function beginning(text, most = 200) {
  return text.length <= most
    ? text
    : h("span", { title: text.slice(0, 5000) }, `${text.slice(0, most)} …`);
}

/** `3 min ago`; kept right by `tick`. */
export function ago(iso) {
  if (iso === undefined || iso === null) return "–";
  const date = new Date(iso);
  return h("time", { datetime: date.toISOString(), title: date.toLocaleString() }, relative(date));
}

export function tick() {
  for (const each of document.querySelectorAll("main time[datetime]")) {
    const text = relative(new Date(each.dateTime));
    if (each.textContent !== text) each.textContent = text;
  }
}

const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

function relative(date) {
  const seconds = (Date.now() - date.getTime()) / 1000;
  if (Math.abs(seconds) < 1.5) return "now";
  const text = duration(Math.abs(seconds) * 1000);
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/** Milliseconds in words of one unit. */
export function duration(ms) {
  if (ms === undefined || ms === null) return "–";
  if (ms < 1000) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  const [unit, size] = UNITS.find(([, size]) => ms / 1000 >= size);
  return `${Math.floor(ms / 1000 / size)} ${unit}`;
}

export const bytes = (n) =>
  n < 1048576 ? `${(n / 1024).toFixed(1)} kB` : `${(n / 1048576).toFixed(1)} MB`;

export const json = (value) => h("pre", {}, JSON.stringify(value, null, 2));
