/** How a hook does, and the buttons that steer it. */
import { post } from "../api.js";
import { action, badge, h, problem, withCode } from "../dom.js";
import { writeSwitch } from "../review.js";

/** Its state, and everything that keeps it from doing what it should. */
export function hookState(hook) {
  return [badge(hook.state), reasonOf(hook), problemsOf(hook).map(problem)];
}

/** For a row: the state, and the first problem. */
export function hookSummary(hook) {
  return [badge(hook.state), reasonOf(hook), problem(problemsOf(hook)[0])];
}

const reasonOf = ({ reason }) =>
  reason ? h("div", { class: "muted small" }, withCode(reason)) : null;

function problemsOf({ error, shadowedBy, lastError, ignored, warnings, events }) {
  return [
    error ?? (shadowedBy && `replaced by the one in ${shadowedBy.root}`),
    lastError && failureText(lastError),
    ...ignored.map(({ event, message, count: times }) => `${times} × on ${event}: ${message}`),
    ...events.filter(({ known }) => !known).map(unknownEvent),
    ...warnings,
  ].filter(Boolean);
}

function unknownEvent({ name, didYouMean }) {
  const near = didYouMean ? `; did you mean ${didYouMean}?` : "";
  return `${name}: no event has this name${near}`;
}

function failureText({ message, file, line, at, event }) {
  const where = file ? file.split("/").slice(-2).join("/") : undefined;
  const place = where ? ` (${where}${line ? `:${line}` : ""})` : "";
  return `${new Date(at).toLocaleTimeString()} ${event ?? ""}: ${message}${place}`;
}

const WORDS = { enable: "enabled again", approve: "approved", reload: "reloaded" };

/** A button that takes another's place has its key, and so the focus. */
export function hookButtons({ name, state, enabled, shadowedBy }) {
  if (shadowedBy) return null;
  const press = (verb) => async () => {
    await post(`/kernel/hooks/${encodeURIComponent(name)}/${verb}`);
    return `${name}: ${WORDS[verb]}`;
  };
  const turn = (isOn) => async () => {
    await writeSwitch(["hooks", "entries", name, "enabled"], name, isOn);
    return false;
  };
  // A resting hook is already enabled in the configuration, so enabling it writes nothing.
  const enable = enabled ? press("enable") : turn(true);
  const isOff = state === "resting" || !enabled;
  const button = (label, key, work) =>
    action(label, `${key}-${name}`, work, { "aria-label": `${label} ${name}` });
  return h(
    "div",
    { class: "row" },
    isOff ? button("Enable", "toggle", enable) : button("Disable", "toggle", turn(false)),
    state === "unapproved" && button("Approve", "approve", press("approve")),
    button("Reload", "reload", press("reload")),
  );
}
