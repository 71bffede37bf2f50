/** The building blocks of pages: sections, states, facts and form rows. */
import { h, svg, withCode } from "./elements.js";

/** Creates a titled section. `result` comes from `attempt`; its error is shown in place of the content. */
export function section(title, result, render, ...aside) {
  const { error } = result;
  return titledSection(title, aside, error === undefined ? render(result.value) : notice(error));
}

const titledSection = (title, aside, body) =>
  h(
    "section",
    {},
    h("div", { class: "title" }, h("h2", {}, title), h("div", { class: "row" }, aside)),
    body,
  );

export function notice(error) {
  if (error.status === 404 || error.status === 503) {
    const text = `This part of the gateway is not available: ${error.message}`;
    return h("p", { class: "notice" }, withCode(text ?? ""));
  }
  return h("p", { class: "notice bad" }, withCode(error.message));
}

export const emptyText = (text) => h("p", { class: "empty" }, withCode(text ?? ""));

/** The number of characters that fit next to another fact on a narrow screen. */
const LONG_FACT = 24;

const GOOD = /^(ok|active|done|enabled|accepted|running|ready|changed|baseline|unchanged|200)$/;
const BAD =
  /^(failed|error|fatal|dead|refused|resting|failing|timeout|unauthorized|not ready|rejected)$/;

function kindOf(state) {
  if (GOOD.test(state)) return "good";
  return BAD.test(state) ? "bad" : "dull";
}

/** Shows a state as a word. Its colour only supports the word. */
export function badge(state, kind = kindOf(state)) {
  return h("span", { class: `badge ${kind}` }, String(state));
}

export function problem(text) {
  return text ? h("p", { class: "problem" }, withCode(String(text))) : null;
}

/** Shows the used share of a limit as a bar. Screen readers read `label`. */
export function meter(value, limit, label) {
  const share = limit > 0 ? Math.min(100, (100 * value) / limit) : 100;
  const kind = share >= 90 ? "bad" : "good";
  return svg(
    "svg",
    { class: `meter ${kind}`, viewBox: "0 0 100 6", preserveAspectRatio: "none", role: "img" },
    svg("title", {}, label),
    svg("rect", { x: 0, y: 0, width: share, height: 6 }),
  );
}

/** Returns true for a path or an address that needs the width of two facts. */
const isLong = (value) => typeof value === "string" && value.length > LONG_FACT;

/** Lists names with their values. `rows` are `[name, value]`; those without a value are left out. */
export function facts(rows) {
  const hasValue = ([, value]) => value !== undefined && value !== null && value !== "";
  const fact = ([name, value]) =>
    h("div", { class: isLong(value) && "wide" }, h("dt", {}, name), h("dd", {}, value));
  return h("dl", { class: "facts" }, rows.filter(hasValue).map(fact));
}

/**
 * Creates one row of a form. `control` is the input, with an id. Screen readers read the hint and the error with it. An error
 * stays until `error` is called again: `const row = formRow(…); row.error("The name is taken.")`.
 */
export function formRow({ label, control, hint, buttons }) {
  const hintId = `${control.id}-hint`;
  const errorId = `${control.id}-error`;
  const problemText = h("p", { id: errorId, class: "problem", role: "alert" });
  control.setAttribute("aria-describedby", hint ? `${hintId} ${errorId}` : errorId);
  const element = h(
    "div",
    { class: "field" },
    h("label", { for: control.id }, label),
    h("div", { class: "row" }, control, buttons),
    hint ? h("p", { id: hintId, class: "hint" }, hint) : null,
    problemText,
  );
  element.error = (text) => {
    problemText.textContent = text ?? "";
    control.setAttribute("aria-invalid", String(Boolean(text)));
  };
  return element;
}
