/** Hooks and plugins: what runs, what does not and why. */
import { attempt, get, post } from "../api.js";
import { action, ago, badge, duration, h, opened, problem, section, table } from "../dom.js";

async function act(kind, name, what) {
  const ends = kind === "plugins" && what === "disable";
  if (ends && !confirm(`Disable ${name}? Its routes and everything else that it does end at once.`))
    return "Nothing was changed";
  await post(`/kernel/${kind}/${encodeURIComponent(name)}/${what}`);
  return `${name}: ${what} done`;
}
const buttons = (kind, name, names) =>
  h(
    "div",
    { class: "row" },
    names.map(([label, what]) =>
      // The one that takes another's place has its key, and so the focus.
      action(
        label,
        `${what.replace(/^(en|dis)able$/, "toggle")}-${name}`,
        () => act(kind, name, what),
        {
          "aria-label": `${label} ${name}`,
        },
      ),
    ),
  );

export const hooks = {
  id: "hooks",
  title: "Hooks",
  async load(name) {
    const [list, logs] = await Promise.all([
      attempt(get("/kernel/hooks")),
      name === undefined
        ? undefined
        : attempt(get(`/kernel/hooks/${encodeURIComponent(name)}/logs?lines=100`)),
    ]);
    return { list, logs };
  },
  render({ list, logs }, name) {
    return h(
      "div",
      {},
      section("Hooks", list, ({ hooks: all }) => [hookTable(all)]),
      logs ? opened(`Lines of ${name}`, logs, ({ lines }) => [lineTable(lines)]) : null,
    );
  },
};

function hookTable(all) {
  return table(
    [
      [
        "hook",
        ({ name, root, description, emoji }) => [
          h(
            "a",
            { href: `#/hooks/${encodeURIComponent(name)}`, "data-key": `hook-${root}-${name}` },
            `${emoji ? `${emoji} ` : ""}${name}`,
          ),
          h("span", { class: "muted" }, ` ${root}`),
          h("div", { class: "muted small" }, description ?? ""),
        ],
      ],
      [
        "events",
        ({ events }) =>
          events.map(({ name, known, didYouMean }) =>
            h(
              "div",
              known ? { class: "nowrap" } : {},
              known ? name : `${name}: nobody emits it${didYouMean ? ` (${didYouMean}?)` : ""}`,
            ),
          ),
      ],
      [
        "state",
        (hook) => [
          badge(hook.state),
          problem(whyNot(hook)),
          whyOff(hook),
          hook.lastError ? problem(lastError(hook.lastError)) : null,
          hook.ignored.map(({ event, message, count }) =>
            problem(`${count} × on ${event}: ${message}`),
          ),
          hook.warnings.map(problem),
        ],
      ],
      [
        "runs",
        ({ runs, failures, lastRun }) => [
          `${runs}`,
          failures > 0 ? `, ${failures} failed` : "",
          lastRun
            ? h("div", { class: "muted small" }, ago(lastRun.at), ` in ${duration(lastRun.ms)}`)
            : null,
        ],
      ],
      [
        "",
        ({ name, state, enabled }) =>
          buttons("hooks", name, [
            state === "resting" || !enabled ? ["Enable", "enable"] : ["Disable", "disable"],
            ...(state === "unapproved" ? [["Approve", "approve"]] : []),
            ["Reload", "reload"],
          ]),
      ],
    ],
    all,
    "There are no hooks. `portico hooks new NAME --event message:received` writes one.",
  );
}

/** Being off is no problem. */
const whyOff = ({ reason }) => (reason ? h("div", { class: "muted small" }, reason) : null);

const whyNot = ({ error, shadowedBy }) =>
  error ?? (shadowedBy ? `replaced by the one of ${shadowedBy.root}` : undefined);

function lastError({ message, file, line, at, event }) {
  const place = file ? ` (${file.split("/").slice(-2).join("/")}${line ? `:${line}` : ""})` : "";
  return `${new Date(at).toLocaleTimeString()} ${event ?? ""}: ${message}${place}`;
}

function lineTable(lines) {
  return table(
    [
      ["when", ({ at }) => ago(at)],
      ["level", ({ level }) => badge(level)],
      [
        "line",
        ({ message, fields }) => [
          message,
          fields ? h("div", { class: "muted small" }, JSON.stringify(fields)) : null,
        ],
      ],
    ],
    [...lines].reverse(),
    "It has said nothing yet.",
  );
}

export const plugins = {
  id: "plugins",
  title: "Plugins",
  everyMs: 5000,
  load: () => get("/kernel/plugins"),
  render({ plugins: all }) {
    return section("Plugins", { value: all }, () => [
      table(
        [
          [
            "plugin",
            ({ name, root, description }) => [
              h("strong", {}, name),
              h("span", { class: "muted" }, ` ${root}`),
              h("div", { class: "muted small" }, description ?? ""),
            ],
          ],
          ["state", (one) => [badge(one.state), problem(one.error), whyOff(one)]],
          [
            "version",
            ({ generation, loadedAt }) =>
              loadedAt ? [`load ${generation}, `, ago(loadedAt)] : "–",
          ],
          [
            "",
            ({ name, state }) =>
              // Without the dashboard nobody could press the other button.
              name === "dashboard"
                ? buttons("plugins", name, [["Reload", "reload"]])
                : buttons(
                    "plugins",
                    name,
                    state === "disabled"
                      ? [["Enable", "enable"]]
                      : [
                          ["Disable", "disable"],
                          ["Reload", "reload"],
                        ],
                  ),
          ],
        ],
        all,
        "There are no plugins.",
      ),
    ]);
  },
};
