/** Parts that pages are made of: sections, states, facts and form rows. */
import { h, svg, withCode } from "./elements.js";

/** A titled part of a page. `result` is what `attempt` returned; its error is shown in place of the content. */
export function section(title, result, render, ...aside) {
  const { error } = result;
  return titled(title, aside, error === undefined ? render(result.value) : notice(error));
}

/** The same for one entry, which may not exist. */
export function opened(title, result, render, ...aside) {
  if (result.error?.status === 404)
    return titled(title, aside, h("p", { class: "notice" }, withCode(result.error.message)));
  return section(title, result, render, ...aside);
}

const titled = (title, aside, body) =>
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

/** How many characters fit beside another fact on a narrow screen. */
const LONG_FACT = 24;

const GOOD = /^(ok|active|done|enabled|accepted|running|ready|changed|baseline|unchanged|200)$/;
const BAD =
  /^(failed|error|fatal|dead|refused|resting|failing|timeout|unauthorized|not ready|rejected)$/;

function kindOf(state) {
  if (GOOD.test(state)) return "good";
  return BAD.test(state) ? "bad" : "dull";
}

/** A word for a state. Its colour helps, but nothing depends on it. */
export function badge(state, kind = kindOf(state)) {
  return h("span", { class: `badge ${kind}` }, String(state));
}

export function problem(text) {
  return text ? h("p", { class: "problem" }, withCode(String(text))) : null;
}

/** How much of a limit is used, as a bar; `label` is read out. */
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

/** A path or an address has the width of two facts, so that it need not be broken. */
const isLong = (value) => typeof value === "string" && value.length > LONG_FACT;

/** Names and values. Rows without a value are left out. `rows`: `[name, value]`. */
export function facts(rows) {
  const isKnown = ([, value]) => value !== undefined && value !== null && value !== "";
  const fact = ([name, value]) =>
    h("div", { class: isLong(value) && "wide" }, h("dt", {}, name), h("dd", {}, value));
  return h("dl", { class: "facts" }, rows.filter(isKnown).map(fact));
}

/**
 * One row of a form. `control` is the input, with an id. The hint and the error are read out with it; an error stays
 * until `error` is called again: `const row = formRow(…); row.error("The name is taken.")`.
 */
export function formRow({ label, control, hint, buttons }) {
  const hintId = `${control.id}-hint`;
  const errorId = `${control.id}-error`;
  const trouble = h("p", { id: errorId, class: "problem", role: "alert" });
  control.setAttribute("aria-describedby", hint ? `${hintId} ${errorId}` : errorId);
  const element = h(
    "div",
    { class: "field" },
    h("label", { for: control.id }, label),
    h("div", { class: "row" }, control, buttons),
    hint ? h("p", { id: hintId, class: "hint" }, hint) : null,
    trouble,
  );
  element.error = (text) => {
    trouble.textContent = text ?? "";
    control.setAttribute("aria-invalid", String(Boolean(text)));
  };
  return element;
}
