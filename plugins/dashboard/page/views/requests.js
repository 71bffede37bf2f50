/** Single requests for models: a table with filters, and what happened to one of them beside it. */
import { attempt, get } from "../api.js";
import { ago, badge, duration, fill, h, json, notice, opened, svg, table } from "../dom.js";
import { lengthOf, more } from "../lists.js";
import { every } from "../rounds.js";

const ROUND_MS = 3000;
const FIRST = 50;

/** What is asked for; it stays while the page is open, also where another section is shown in between. */
const filters = {};

const CHOICES = {
  outcome: ["ok", "failed", "refused", "cancelled"],
  status: ["2xx", "4xx", "5xx", "401", "403", "404", "429", "499"],
  since: ["15m", "1h", "24h", "7d"],
};
const TEXTS = [
  ["key", "Key"],
  ["model", "Model or alias"],
  ["channel", "Channel"],
  ["principal", "Principal"],
  ["id", "Request id"],
];

export const requests = {
  id: "requests",
  title: "Requests",
  mount(root, signal, id) {
    const list = h("div", {});
    const detail = h("div", { class: "detail" });
    const refresh = () => showList(list, id, signal);
    fill(
      root,
      h(
        "section",
        {},
        h("div", { class: "title" }, h("h2", {}, "Requests for models")),
        filterForm(refresh),
      ),
      h(
        "div",
        { class: id === undefined ? "" : "beside" },
        h("section", { onkeydown: moveByKeys }, list),
        id === undefined ? null : detail,
      ),
    );
    addEventListener("portico:changed", refresh, { signal });
    let isFirst = true;
    every(ROUND_MS, signal, async () => {
      await Promise.all([refresh(), id === undefined ? null : showDetail(detail, id, signal)]);
      if (isFirst && id !== undefined)
        list.querySelector("[aria-current]")?.focus({ preventScroll: true });
      isFirst = false;
    });
  },
};

function filterForm(refresh) {
  let timer;
  const changed = (event) => {
    filters[event.target.name] = event.target.value.trim();
    clearTimeout(timer);
    timer = setTimeout(refresh, event.type === "input" ? 300 : 0);
  };
  const labelled = (title, control) => h("label", {}, h("span", {}, title), control);
  return h(
    "form",
    { class: "filters", onsubmit: (event) => event.preventDefault() },
    Object.entries(CHOICES).map(([name, choices]) =>
      labelled(
        { outcome: "Outcome", status: "Status", since: "Since" }[name],
        h(
          "select",
          { name, onchange: changed },
          h("option", { value: "" }, "any"),
          choices.map((choice) =>
            h("option", { value: choice, selected: filters[name] === choice }, choice),
          ),
        ),
      ),
    ),
    TEXTS.map(([name, title]) =>
      labelled(
        title,
        h("input", {
          name,
          type: "search",
          autocomplete: "off",
          spellcheck: "false",
          value: filters[name] ?? "",
          oninput: changed,
        }),
      ),
    ),
  );
}

async function showList(list, id, signal) {
  const query = new URLSearchParams({ limit: lengthOf("requests", FIRST) });
  for (const [name, value] of Object.entries(filters)) if (value !== "") query.set(name, value);
  const { value, error } = await attempt(get(`/requests?${query}`, { signal }));
  if (signal.aborted) return;
  const text = JSON.stringify(value ?? error?.message);
  // What has not changed stays: a selection, a scroll position, a focus.
  if (list.shown === text) return;
  list.shown = text;
  if (error) return fill(list, notice(error));
  const { requests: rows } = value;
  fill(
    list,
    h(
      "div",
      {},
      table(columns(id), rows, "There are no such requests."),
      more("requests", FIRST, rows.length),
    ),
  );
}

async function showDetail(detail, id, signal) {
  const result = await attempt(get(`/requests/${encodeURIComponent(id)}`, { signal }));
  if (signal.aborted) return;
  const text = JSON.stringify(result.value ?? result.error.message);
  if (detail.shown === text) return;
  detail.shown = text;
  const close = h("a", { href: "#/requests", "data-key": "close" }, "Close");
  fill(detail, opened(id, result, story, close));
}

/** Up and down move through the list; Enter opens what has the focus. */
function moveByKeys(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !event.target.matches("td a")) return;
  const links = [...event.currentTarget.querySelectorAll("tbody td:first-child a")];
  const next = links[links.indexOf(event.target) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

const who = ({ key, principal }) => key ?? principal;
const dollars = (usd) =>
  usd === undefined ? "–" : `$${usd.toLocaleString("en", { maximumSignificantDigits: 4 })}`;
const tokens = ({ promptTokens, completionTokens }) =>
  promptTokens === undefined
    ? "–"
    : `${promptTokens.toLocaleString()} + ${(completionTokens ?? 0).toLocaleString()}`;

/** Fewer where one is open beside the list. */
function columns(id) {
  const always = [
    [
      "request",
      (one) => [
        h(
          "a",
          {
            href: `#/requests/${encodeURIComponent(one.id)}`,
            "data-key": `request-${one.id}`,
            "aria-current": one.id === id ? "true" : null,
          },
          one.alias ?? one.route ?? one.id,
        ),
        h("div", { class: "muted small" }, who(one), " · ", ago(one.at)),
      ],
    ],
    ["status", statusOf],
    ["time", ({ ms }) => duration(ms), "number"],
    ["cost", ({ costUsd }) => dollars(costUsd), "number"],
  ];
  if (id !== undefined) return always;
  const answered = [
    "answered by",
    ({ channel, model }) => (channel === undefined ? "–" : `${channel} / ${model ?? ""}`),
  ];
  const tried = ["attempts", ({ attempts }) => attempts.length, "number"];
  const used = ["tokens", tokens, "number"];
  return [always[0], answered, always[1], tried, always[2], used, always[3]];
}

function statusOf({ status, outcome, error }) {
  const kind = outcome === "ok" ? "good" : outcome === "cancelled" ? "dull" : "bad";
  return [
    h("span", { class: `badge ${kind}` }, `${status} ${outcome}`),
    error ? h("div", { class: "muted small" }, error.code) : null,
  ];
}

function story(one) {
  return [
    facts(one),
    h("h3", {}, "What happened"),
    timeline(one),
    texts("Prompt", one.prompt),
    texts("Response", one.response),
    Object.keys(one.headers).length === 0
      ? null
      : h(
          "details",
          { "data-key": "headers" },
          h("summary", {}, "Headers of the response"),
          h("pre", {}, lines(one.headers)),
        ),
  ];
}

const lines = (headers) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

function facts(one) {
  const rows = [
    ["outcome", statusOf(one)],
    ["key", one.key],
    ["principal", one.principal],
    ["address", one.address],
    ["asked for", [one.alias, ...(one.fallbacks ?? [])].filter(Boolean).join(", then ")],
    ["answered by", one.channel && `${one.channel} / ${one.model}`],
    ["at", h("time", {}, new Date(one.at).toLocaleString())],
    ["took", duration(one.ms)],
    ["tokens", one.promptTokens === undefined ? null : tokens(one)],
    ["of them cached", one.cachedTokens],
    ["cost", one.costUsd === undefined ? null : dollars(one.costUsd)],
    ["tags", one.tags?.join(", ")],
    ["limit that refused", one.error?.limit],
  ];
  return [
    h(
      "dl",
      { class: "facts" },
      rows
        .filter(([, value]) => value !== undefined && value !== null && value !== "")
        .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    ),
    one.error ? h("p", { class: "problem" }, one.error.message) : null,
  ];
}

const isBefore = ({ event }) => event === "message:received" || event === "chat:request";

/** In the order in which it happened, as far as that is known: hooks on the request, attempts, hooks on the response. */
function timeline(one) {
  const steps = [
    ...one.hooks.filter(isBefore).map(hookStep),
    ...one.attempts.map((attempt) => attemptStep(attempt, one.ms)),
    ...one.hooks.filter((hook) => !isBefore(hook)).map(hookStep),
  ];
  if (steps.length === 0)
    return h("p", { class: "empty" }, "No hook ran, and no upstream was asked.");
  return h("ol", { class: "timeline" }, steps);
}

function attemptStep(attempt, whole) {
  const { channel, model, startMs, ms, firstByteMs, status, code, cause, skipped } = attempt;
  const kind = code === undefined ? "good" : "bad";
  const times = [
    `after ${duration(startMs)}`,
    ms === undefined ? null : `took ${duration(ms)}`,
    firstByteMs === undefined ? null : `first byte after ${duration(firstByteMs)}`,
  ];
  const name = skipped ? "passed over" : status || code || "unfinished";
  return h(
    "li",
    {},
    h("span", { class: `badge ${skipped ? "dull" : kind}` }, String(name)),
    ` ${channel} / ${model}`,
    h("div", { class: "muted small" }, times.filter(Boolean).join(", ")),
    skipped || ms === undefined ? null : bar(startMs, ms, whole, kind),
    cause === undefined ? null : h("p", { class: "problem" }, `${code}: ${cause}`),
  );
}

/** Where in the request's time the attempt lies. */
function bar(startMs, ms, whole, kind) {
  const share = (value) => Math.min(100, (100 * value) / Math.max(whole, startMs + ms, 0.1));
  return svg(
    "svg",
    {
      class: `span ${kind}`,
      viewBox: "0 0 100 4",
      preserveAspectRatio: "none",
      "aria-hidden": true,
    },
    svg("rect", { x: share(startMs), width: Math.max(0.5, share(ms)), y: 0, height: 4 }),
  );
}

function hookStep({ name, event, runs, ms, fields, effect, failures, error, changes }) {
  const what = [
    fields.length > 0 ? `changed ${fields.join(", ")}` : "changed nothing",
    effect === undefined ? null : { reply: "answered", block: "refused" }[effect],
    runs > 1 ? `${runs} runs` : null,
    duration(ms),
  ];
  return h(
    "li",
    {},
    badge("hook"),
    ` ${name} `,
    h("span", { class: "muted small" }, `on ${event}`),
    h("div", { class: "small" }, what.filter(Boolean).join(", ")),
    failures === undefined
      ? null
      : h("p", { class: "problem" }, `failed ${failures} times: ${error}`),
    (changes ?? []).map(({ field, before, after }) =>
      h(
        "div",
        { class: "difference" },
        h("span", { class: "muted small" }, field),
        before === undefined ? null : h("pre", { class: "removed" }, shown(before)),
        after === undefined ? null : h("pre", { class: "added" }, shown(after)),
      ),
    ),
  );
}

const shown = (value) =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");

function texts(title, value) {
  if (value === undefined || value === null) return null;
  return h(
    "details",
    { "data-key": title, open: true },
    h("summary", {}, title),
    typeof value === "string" ? h("pre", {}, value) : json(value),
  );
}
