/** The state of a hook, and the buttons that control it. */
import { post } from "../api.js";
import { action, badge, h, problem, withCode } from "../dom.js";
import { writeSwitch } from "../review.js";

/** Shows the state with all problems. */
export function hookState(hook) {
  return [badge(hook.state), reasonOf(hook), problemsOf(hook).map(problem)];
}

/** Shows the state with the first problem, for a row of a table. */
export function hookSummary(hook) {
  return [badge(hook.state), reasonOf(hook), problem(problemsOf(hook)[0])];
}

const reasonOf = ({ reason }) =>
  reason ? h("div", { class: "muted small" }, withCode(reason)) : null;

function problemsOf({ error, shadowedBy, lastError, ignored, warnings, events }) {
  return [
    error ?? (shadowedBy && `replaced by the hook of the same name in ${shadowedBy.root}`),
    lastError && failureText(lastError),
    ...ignored.map(({ event, message, count: times }) => `${times} × on ${event}: ${message}`),
    ...events.filter(({ known }) => !known).map(unknownEvent),
    ...warnings,
  ].filter(Boolean);
}

function unknownEvent({ name, didYouMean }) {
  const suggestion = didYouMean ? `; did you mean ${didYouMean}?` : "";
  return `${name}: no event has this name${suggestion}`;
}

function failureText({ message, file, line, at, event }) {
  const fileName = file ? file.split("/").slice(-2).join("/") : undefined;
  const place = fileName ? ` (${fileName}${line ? `:${line}` : ""})` : "";
  return `${new Date(at).toLocaleTimeString()} ${event ?? ""}: ${message}${place}`;
}

/** The past participles of the actions, for the message after each. */
const PARTICIPLES = { enable: "enabled again", approve: "approved", reload: "reloaded" };

/** Creates the buttons. The button that replaces another one has the same key, so that it keeps the focus. */
export function hookButtons({ name, state, enabled, shadowedBy }) {
  if (shadowedBy) return null;
  const send = (verb) => async () => {
    await post(`/kernel/hooks/${encodeURIComponent(name)}/${verb}`);
    return `${name}: ${PARTICIPLES[verb]}`;
  };
  const setEnabled = (isOn) => async () => {
    await writeSwitch(["hooks", "entries", name, "enabled"], name, isOn);
    return false;
  };
  // A resting hook is already enabled in the configuration, so enabling it writes nothing.
  const enable = enabled ? send("enable") : setEnabled(true);
  const isOff = state === "resting" || !enabled;
  const button = (label, key, work) =>
    action(label, `${key}-${name}`, work, { "aria-label": `${label} ${name}` });
  return h(
    "div",
    { class: "row" },
    isOff ? button("Enable", "toggle", enable) : button("Disable", "toggle", setEnabled(false)),
    state === "unapproved" && button("Approve", "approve", send("approve")),
    button("Reload", "reload", send("reload")),
  );
}
