/** The detail of one hook: its state, a test with a sample, its code and versions, and its log lines. */
import { attempt, get, post } from "../api.js";
import {
  ago,
  badge,
  count,
  duration,
  facts,
  fill,
  h,
  href,
  notice,
  problem,
  table,
} from "../dom.js";
import { every } from "../rounds.js";
import { hookButtons, hookState } from "./hook-state.js";
import { lineDifferences } from "./line-differences.js";

const ROUND_MS = 3000;

export const hookDetail = {
  async mount(root, signal, name) {
    const parts = {
      state: h("div", {}),
      trial: h("div", {}),
      code: h("div", {}),
      lines: h("div", {}),
    };
    fill(root, parts.state, parts.trial, parts.code, parts.lines);
    const path = `/kernel/hooks/${encodeURIComponent(name)}`;
    const drawnStates = {};
    /** Draws a part again only if its data differs, so that a selection and an open file stay. */
    const draw = (part, { value, error }, render) => {
      const text = JSON.stringify(value ?? error?.message);
      if (signal.aborted || drawnStates[part] === text) return;
      drawnStates[part] = text;
      fill(parts[part], error ? notice(error) : render(value));
    };
    const refresh = async () => {
      const [hook, code, log] = await Promise.all([
        attempt(get(path, { signal })),
        attempt(get(`${path}/code`, { signal })),
        attempt(get(`${path}/logs?lines=100`, { signal })),
      ]);
      draw("state", hook, stateOf);
      draw("code", code, codeOf);
      draw("lines", log, linesOf);
      return hook;
    };
    addEventListener("portico:changed", refresh, { signal });
    const { value: hook } = await refresh();
    const events = hook && (await attempt(get("/kernel/events", { signal })));
    if (events?.value && !signal.aborted) fill(parts.trial, trialForm(hook, events.value.events));
    void every(ROUND_MS, signal, refresh);
  },
};

function stateOf(hook) {
  const { name, loaded, lastRun, runs, failures } = hook;
  return [
    h("p", {}, hook.description ?? ""),
    hookState(hook),
    facts([
      ["events", hook.events.map((event) => event.name).join(", ")],
      ["runs", `${count(runs)}, ${count(failures)} failed`],
      ["last run", lastRun && [ago(lastRun.at), `, ${duration(lastRun.ms)}`]],
      ["version", loaded && ["loaded ", ago(loaded.loadedAt), ` (load no. ${loaded.generation})`]],
      ["priority", String(hook.priority)],
      ["time limit", duration(hook.timeoutMs)],
      ["if the hook fails", hook.failClosed ? "the event is refused" : "the event passes"],
      ["directory", hook.dir],
    ]),
    hookButtons(hook),
    h(
      "p",
      {},
      h(
        "a",
        { href: href("requests", undefined, { hook: name }) },
        "Requests on which this hook ran",
      ),
    ),
  ];
}

/** Creates the form that runs the hook on a sample. The run is not counted, and shows what the hook would change. */
function trialForm({ name, events }, declared) {
  const names = events.map((event) => event.name).filter((event) => sampleOf(event, declared));
  if (names.length === 0) return null;
  const event = h(
    "select",
    { id: "trial-event" },
    names.map((each) => h("option", {}, each)),
  );
  const context = h("textarea", { id: "trial-context", rows: "8", spellcheck: "false" });
  const outcome = h("div", { role: "status", "aria-label": "Result of the test" });
  const showSample = () => {
    context.value = JSON.stringify(sampleOf(event.value, declared), null, 2);
  };
  event.addEventListener("change", showSample);
  showSample();
  const run = h("button", { type: "submit", class: "primary" }, "Test the hook");
  const onsubmit = async (submitted) => {
    submitted.preventDefault();
    run.disabled = true;
    fill(outcome, await tryHook(name, event.value, context.value));
    run.disabled = false;
  };
  return h(
    "form",
    { onsubmit },
    h("h3", {}, "Test the hook with a sample event"),
    h("div", { class: "row" }, h("label", { for: "trial-event" }, "Event"), event),
    h("label", { for: "trial-context" }, "The content of the event, as JSON"),
    context,
    h(
      "div",
      { class: "row" },
      run,
      h(
        "span",
        { class: "hint" },
        "The test changes nothing except the hook's own stored data (kv).",
      ),
    ),
    outcome,
  );
}

const sampleOf = (name, declared) => declared.find((event) => event.name === name)?.sample;

async function tryHook(name, event, text) {
  try {
    const context = JSON.parse(text);
    const result = await post(`/kernel/hooks/${encodeURIComponent(name)}/run`, { event, context });
    return outcomeOf(result);
  } catch (error) {
    return problem(error.message);
  }
}

function outcomeOf({ ok, ms, effects, error, file, line, timedOut, logs, context }) {
  const place = file ? ` (${file.split("/").slice(-2).join("/")}${line ? `:${line}` : ""})` : "";
  return [
    h("p", {}, badge(ok ? "ok" : "failed"), ` in ${duration(ms)}${timedOut ? ", timed out" : ""}`),
    problem(error && `${error}${place}`),
    effects ? effectsOf(effects, context) : null,
    logs.length > 0 ? linesTable(logs) : null,
  ];
}

function effectsOf({ result, changed, messages, ignored }, context) {
  const fields = Object.entries(changed);
  const isIdle = !result && fields.length === 0 && messages.length === 0;
  return [
    isIdle ? h("p", { class: "muted" }, "The hook would change nothing.") : null,
    result?.reply === undefined ? null : effect("The hook would reply:", result.reply),
    result?.block === undefined ? null : effect("The hook would refuse the event:", result.block),
    fields.map(([field, value]) => [
      h("p", {}, "The hook would change ", h("strong", {}, field), ":"),
      lineDifferences(textOf(context[field]), textOf(value)),
    ]),
    messages.map((message) => effect("The hook would send:", message)),
    ignored.map(problem),
  ];
}

const effect = (title, text) => [h("p", {}, title), h("pre", {}, text)];
const textOf = (value) =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");

function codeOf({ files, versions }) {
  return [
    h("h3", {}, "Code on disk"),
    files.length === 0
      ? h("p", { class: "empty" }, "None of the hook's files can be shown.")
      : null,
    files.map(({ path, text }) => fileOf(path, h("pre", {}, text))),
    h("h3", {}, "Versions that have run since the gateway started"),
    versions.length === 0
      ? h(
          "p",
          { class: "empty" },
          "No versions are stored, because bundled hooks change only with the package.",
        )
      : h(
          "ol",
          { class: "timeline" },
          versions.map((version, i) => versionOf(version, versions[i + 1])),
        ),
  ];
}

const fileOf = (path, content) =>
  h("details", { "data-key": `file-${path}` }, h("summary", {}, path), content);

/** Shows a version with its changes from the version before. */
function versionOf({ hash, loadedAt, files }, before) {
  const head = [ago(loadedAt), h("span", { class: "muted small" }, ` ${hash.slice(0, 12)}`)];
  if (!before) return h("li", {}, head, h("span", { class: "muted" }, " first version"));
  const textIn = (version, path) => version.files.find((file) => file.path === path)?.text ?? "";
  const paths = new Set([...files, ...before.files].map(({ path }) => path));
  const changed = [...paths].filter((path) => textIn({ files }, path) !== textIn(before, path));
  return h(
    "li",
    {},
    head,
    changed.map((path) =>
      h(
        "details",
        { "data-key": `version-${hash}-${path}` },
        h("summary", {}, `${path} changed`),
        lineDifferences(textIn(before, path), textIn({ files }, path)),
      ),
    ),
  );
}

function linesOf({ lines }) {
  return [
    h("h3", {}, "Log lines of the hook"),
    lines.length === 0
      ? h("p", { class: "empty" }, "The hook has not logged anything yet.")
      : linesTable([...lines].reverse()),
  ];
}

const linesTable = (lines) =>
  table(
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
    lines,
    "",
  );
