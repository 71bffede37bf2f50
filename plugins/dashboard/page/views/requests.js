/** The page of requests: a table of requests to models with filters, and the details of one next to it. */
import { attempt, get } from "../api.js";
import {
  ago,
  badge,
  count,
  dataTable,
  dollars,
  duration,
  entryLink,
  exactTime,
  facts,
  h,
  href,
  json,
  notice,
  problem,
  svg,
  numberColumn,
} from "../dom.js";
import { filters } from "../filters.js";
import { lengthOf, listEnd } from "../lists.js";

const FIRST = 50;

const requestFilters = filters({
  choices: [
    ["outcome", "Outcome", ["ok", "failed", "refused", "cancelled"]],
    ["status", "Status", ["2xx", "4xx", "5xx", "401", "403", "404", "429", "499"]],
    ["since", "Since", ["15m", "1h", "24h", "7d"]],
  ],
  texts: [
    ["key", "Key"],
    ["model", "Model or alias"],
    ["channel", "Channel"],
    ["principal", "Principal"],
    ["hook", "Hook that ran"],
    ["id", "Request id"],
  ],
});

export const requests = {
  id: "requests",
  title: "Requests",
  tools: requestFilters.form,
  async load(_id, query) {
    const parameters = new URLSearchParams({ limit: lengthOf("requests", FIRST) });
    for (const name of requestFilters.names)
      if (query.get(name)) parameters.set(name, query.get(name));
    return attempt(get(`/requests?${parameters}`));
  },
  render({ value, error }, id, query) {
    if (error) return h("section", {}, notice(error));
    const empty = requestFilters.names.some((name) => query.get(name))
      ? "No recorded request matches these filters."
      : "No request has reached a model since the gateway started.";
    return h(
      "section",
      {},
      dataTable({ key: "requests", columns: columns(id, query), rows: value.requests, empty }),
      listEnd("requests", FIRST, value.requests.length),
    );
  },
  detail: {
    load: (id) => get(`/requests/${encodeURIComponent(id)}`),
    render: renderDetail,
  },
};

const clientOf = ({ key, principal }) => key ?? principal;

const tokensText = ({ promptTokens, completionTokens }) =>
  promptTokens === undefined ? "–" : `${count(promptTokens)} + ${count(completionTokens ?? 0)}`;

/** Returns the columns; fewer if a request is open next to the list. */
function columns(openId, query) {
  const request = {
    title: "request",
    value: ({ at }) => at,
    cell: (request) => [
      entryLink("requests", request.id, request.alias ?? request.route ?? request.id, {
        isCurrent: request.id === openId,
        query,
      }),
      h("div", { class: "muted small" }, clientOf(request), " · ", ago(request.at)),
    ],
  };
  const answeredBy = {
    title: "served by",
    value: ({ channel, model }) => channel && `${channel} / ${model}`,
    cell: ({ channel, model }) => (channel === undefined ? "–" : `${channel} / ${model ?? ""}`),
  };
  const status = { title: "status", value: ({ status }) => status, cell: statusOf };
  const numbers = {
    attempts: numberColumn("attempts", ({ attempts }) => attempts.length, String),
    time: numberColumn("time", ({ ms }) => ms, duration),
    cost: numberColumn("cost", ({ costUsd }) => costUsd, dollars),
    tokens: {
      ...numberColumn("tokens", ({ promptTokens, completionTokens }) =>
        promptTokens === undefined ? undefined : promptTokens + (completionTokens ?? 0),
      ),
      cell: tokensText,
    },
  };
  if (openId !== undefined) return [request, status, numbers.time, numbers.cost];
  const { attempts, time, cost } = numbers;
  return [request, answeredBy, status, attempts, time, numbers.tokens, cost];
}

const OUTCOME_KINDS = { ok: "good", cancelled: "dull" };

function statusOf({ status, outcome, error }) {
  return [
    badge(`${status} ${outcome}`, OUTCOME_KINDS[outcome] ?? "bad"),
    error ? h("div", { class: "muted small" }, error.code) : null,
  ];
}

function renderDetail(entry) {
  return [
    summaryOf(entry),
    problem(entry.error?.message),
    h("h3", {}, "What happened"),
    timeline(entry),
    contentDetails("Prompt", entry.prompt),
    contentDetails("Response", entry.response),
    entry.curl === undefined
      ? null
      : h(
          "details",
          { "data-key": "curl" },
          h("summary", {}, "Send this request again with curl"),
          h("pre", {}, entry.curl),
        ),
    Object.keys(entry.headers).length === 0
      ? null
      : h(
          "details",
          { "data-key": "headers" },
          h("summary", {}, "Response headers"),
          h("pre", {}, headerLines(entry.headers)),
        ),
  ];
}

const headerLines = (headers) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

function summaryOf(entry) {
  const { key, principal, alias, fallbacks, channel, model, promptTokens, costUsd } = entry;
  return facts([
    ["outcome", statusOf(entry)],
    ["key", key && h("a", { href: href("requests", undefined, { key }) }, key)],
    ["principal", principal],
    ["address", entry.address],
    ["requested", [alias, ...(fallbacks ?? [])].filter(Boolean).join(", then ")],
    ["served by", channel && `${channel} / ${model}`],
    ["received", exactTime(entry.at)],
    ["took", duration(entry.ms)],
    ["first byte", entry.firstByteMs && `after ${duration(entry.firstByteMs)}`],
    ["tokens", promptTokens === undefined ? undefined : `${tokensText(entry)} (prompt + response)`],
    ["cached tokens", entry.cachedTokens],
    ["cost", costUsd === undefined ? undefined : dollars(costUsd)],
    ["tags", entry.tags?.join(", ")],
    ["exceeded limit", entry.error?.limit],
  ]);
}

const isBefore = ({ event }) => event === "message:received" || event === "chat:request";

/**
 * Lists hooks on the request, attempts, and hooks on the response: the order in which they happened, as far as it is
 * known.
 */
function timeline(entry) {
  const steps = [
    ...entry.hooks.filter(isBefore).map(hookStep),
    ...entry.attempts.map((attempt) => attemptStep(attempt, entry.ms)),
    ...entry.hooks.filter((hook) => !isBefore(hook)).map(hookStep),
  ];
  if (steps.length === 0)
    return h(
      "p",
      { class: "empty" },
      "No hook ran, and the gateway sent no request to an upstream.",
    );
  return h("ol", { class: "timeline" }, steps);
}

function attemptStep(attempt, totalMs) {
  const { channel, model, startMs, ms, firstByteMs, status, code, cause, skipped } = attempt;
  const kind = code === undefined ? "good" : "bad";
  const times = [
    `after ${duration(startMs)}`,
    ms === undefined ? null : `took ${duration(ms)}`,
    firstByteMs === undefined ? null : `first byte after ${duration(firstByteMs)}`,
  ];
  const name = skipped ? "skipped" : status || code || "unfinished";
  return h(
    "li",
    {},
    h("span", { class: `badge ${skipped ? "dull" : kind}` }, String(name)),
    ` ${channel} / ${model}`,
    h("div", { class: "muted small" }, times.filter(Boolean).join(", ")),
    skipped || ms === undefined ? null : timeBar(startMs, ms, totalMs, kind),
    problem(cause && [code, cause].filter(Boolean).join(": ")),
  );
}

/** Draws the time of the attempt within that of the request. */
function timeBar(startMs, ms, totalMs, kind) {
  const share = (value) => Math.min(100, (100 * value) / Math.max(totalMs, startMs + ms, 0.1));
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
  const details = [
    fields.length > 0 ? `changed ${fields.join(", ")}` : "changed nothing",
    effect === undefined ? null : { reply: "answered", block: "refused" }[effect],
    runs > 1 ? `${runs} runs` : null,
    duration(ms),
  ];
  return h(
    "li",
    {},
    badge("hook", "dull"),
    ` ${name} `,
    h("span", { class: "muted small" }, `on ${event}`),
    h("div", { class: "small" }, details.filter(Boolean).join(", ")),
    failures === undefined
      ? null
      : h("p", { class: "problem" }, `failed ${failures} times, most recently with: ${error}`),
    (changes ?? []).map(({ field, before, after }) =>
      h(
        "div",
        { class: "difference" },
        h("span", { class: "muted small" }, field),
        before === undefined ? null : h("pre", { class: "removed" }, textOf(before)),
        after === undefined ? null : h("pre", { class: "added" }, textOf(after)),
      ),
    ),
  );
}

const textOf = (value) =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");

function contentDetails(title, value) {
  if (value === undefined || value === null) return null;
  return h(
    "details",
    { "data-key": title, open: true },
    h("summary", {}, title),
    typeof value === "string" ? h("pre", {}, value) : json(value),
  );
}
