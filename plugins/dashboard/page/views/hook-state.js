/** How a hook does, and the buttons that steer it. */
import { post } from "../api.js";
import { action, badge, h, problem, withCode } from "../dom.js";

/** Its state, and everything that keeps it from doing what it should. */
export function hookState({ state, error, reason, shadowedBy, lastError, ignored, warnings }) {
  const why = error ?? (shadowedBy ? `replaced by the one in ${shadowedBy.root}` : undefined);
  return [
    badge(state),
    problem(why),
    reason ? h("div", { class: "muted small" }, withCode(reason)) : null,
    lastError ? problem(failureText(lastError)) : null,
    ignored.map(({ event, message, count: times }) =>
      problem(`${times} × on ${event}: ${message}`),
    ),
    warnings.map(problem),
  ];
}

function failureText({ message, file, line, at, event }) {
  const where = file ? file.split("/").slice(-2).join("/") : undefined;
  const place = where ? ` (${where}${line ? `:${line}` : ""})` : "";
  return `${new Date(at).toLocaleTimeString()} ${event ?? ""}: ${message}${place}`;
}

const WORDS = { enable: "enabled", disable: "disabled", approve: "approved", reload: "reloaded" };

/** A button that takes another's place has its key, and so the focus. */
export function hookButtons({ name, state, enabled, shadowedBy }) {
  if (shadowedBy) return null;
  const isOff = state === "resting" || !enabled;
  const verbs = [
    isOff ? ["Enable", "enable"] : ["Disable", "disable"],
    state === "unapproved" ? ["Approve", "approve"] : null,
    ["Reload", "reload"],
  ].filter(Boolean);
  const press = async (verb) => {
    await post(`/kernel/hooks/${encodeURIComponent(name)}/${verb}`);
    return `${name}: ${WORDS[verb]}`;
  };
  const keyOf = (verb) => (verb.endsWith("able") ? `toggle-${name}` : `${verb}-${name}`);
  return h(
    "div",
    { class: "row" },
    verbs.map(([label, verb]) =>
      action(label, keyOf(verb), () => press(verb), { "aria-label": `${label} ${name}` }),
    ),
  );
}
