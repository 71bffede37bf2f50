/** The problems that `portico status` reports, each with its remedy. */
import { badge, h, href, section, withCode } from "../dom.js";

/**
 * The remedies by the part of the gateway that reports the problem: the page, its title, a sentence, and the entry of the
 * page if it is always the same one.
 */
const REMEDIES = {
  agent: [
    "configuration",
    "Configuration",
    "Set `agents.defaults.model` to a model that exists.",
    "agents.defaults.model",
  ],
  channels: [
    "channels",
    "Channels",
    "Test the channel; check its address, its key and its limits.",
  ],
  configuration: ["configuration", "Configuration", "Correct the setting, or restart the gateway."],
  confirmations: ["turns", "Turns", "Allow or refuse the tool call."],
  cron: ["cron", "Cron", "Read the error of the last run, correct the job, and run it again."],
  deliveries: ["deliveries", "Deliveries", "Check the receiver, then replay the delivery."],
  gateway: [
    "configuration",
    "Configuration",
    "Change the settings of `gateway`, or restart the gateway.",
    "gateway",
  ],
  hooks: ["hooks", "Hooks", "Correct the event names in the hook."],
  nodes: [
    "browser",
    "Browser",
    "Start `portico node` on the node's machine again, or remove the profile.",
  ],
  polls: ["polls", "Polls", "Read the error of the last run, correct the poll, and run it again."],
  store: ["gateways", "Gateways", "Run `portico store check` and follow its advice."],
  turns: ["turns", "Turns", "Read the turn's error, then try the turn again."],
};
const OTHER = ["logs", "Logs", "Look for related lines in the log."];

export function problemsSection(status) {
  return section("Problems", status, (value) => {
    const problems = problemsOf(value);
    if (problems.length === 0)
      return h(
        "p",
        {},
        badge("ok"),
        withCode(" There are no problems. `portico status` shows the same list."),
      );
    return h("ul", { class: "problems" }, problems.map(problemItem));
  });
}

function problemItem({ subject, text, remedy: [page, title, advice, entry], id = entry }) {
  return h(
    "li",
    {},
    h("p", {}, h("strong", {}, subject), h("span", {}, withCode(` ${text}`))),
    h("p", { class: "small" }, withCode(`${advice} `), h("a", { href: href(page, id) }, title)),
  );
}

function problemsOf({ config, notReady, hooks, plugins, notices }) {
  return [
    ...configurationProblems(config),
    ...notReady.map(({ name, error }) => ({
      subject: `${name} is not ready:`,
      text: error,
      remedy: ["plugins", "Plugins", "Correct the plugin's settings, or reload the plugin."],
    })),
    ...extensionProblems("Hook", "hooks", hooks),
    ...extensionProblems("Plugin", "plugins", plugins),
    ...notices.map(({ from, text }) => ({
      subject: `${from[0].toUpperCase()}${from.slice(1)}:`,
      text,
      remedy: REMEDIES[from] ?? OTHER,
    })),
  ];
}

function configurationProblems({ problem }) {
  if (!problem) return [];
  const line = problem.line ? ` (line ${problem.line})` : "";
  const remedy = [
    "configuration",
    "Configuration",
    "Correct the file; the gateway reads it again as soon as you save it.",
  ];
  const subject = "The changed configuration is not active:";
  return [{ subject, text: `${problem.message ?? problem}${line}`, remedy }];
}

function extensionProblems(kind, page, extensions) {
  const remedy = [page, `${kind}s`, `Correct the ${kind.toLowerCase()}'s code, or disable it.`];
  return extensions
    .filter(({ error, state }) => error && state !== "disabled")
    .map(({ name, error }) => ({ subject: `${kind} ${name}:`, text: error, remedy, id: name }));
}
