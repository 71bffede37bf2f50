/** Cron jobs and polls: when they come, how they went. */
import { attempt, get, post } from "../api.js";
import {
  action,
  ago,
  badge,
  beginning,
  duration,
  h,
  opened,
  problem,
  section,
  table,
} from "../dom.js";
import { lengthOf, more } from "../lists.js";

export const cron = view({
  id: "cron",
  title: "Cron",
  root: "/cron/jobs",
  list: ({ jobs }) => jobs,
  next: ({ nextRunAt }) => nextRunAt,
  last: ({ lastRunAt }) => lastRunAt,
  what: ({ payload }) => payload.message ?? payload.text ?? payload.event ?? payload.kind,
  empty: "There are no jobs. `portico cron add NAME --every 1h --message TEXT` makes one.",
});

export const polls = view({
  id: "polls",
  title: "Polls",
  root: "/polls",
  list: ({ polls: all }) => all,
  next: ({ nextCheckAt }) => nextCheckAt,
  last: ({ lastCheckAt }) => lastCheckAt,
  what: ({ source }) => `${source.kind} ${source.url ?? source.path ?? ""}`,
  empty: "There are no polls. `portico polls add` makes one.",
});

function view({ id, title, root, list, next, last, what, empty }) {
  const at = (job) => `${root}/${encodeURIComponent(job)}`;
  const columns = [
    [
      "name",
      (job) => [
        h(
          "a",
          { href: `#/${id}/${encodeURIComponent(job.id)}`, "data-key": `${id}-${job.id}` },
          job.name,
        ),
        h("div", { class: "muted small" }, beginning(what(job) ?? "")),
      ],
    ],
    ["when", (job) => job.every ?? scheduleText(job.schedule)],
    ["state", ({ status, state }) => [badge(status), problem(state.disabledReason)]],
    ["next", ({ state }) => ago(next(state))],
    [
      "last",
      ({ state }) => [
        ago(last(state)),
        state.lastStatus ? [" ", badge(state.lastStatus)] : null,
        problem(state.lastError),
      ],
    ],
    [
      "",
      (job) =>
        h(
          "div",
          { class: "row" },
          [
            ["Run now", "run"],
            job.status === "enabled" ? ["Disable", "disable"] : ["Enable", "enable"],
          ].map(([label, verb]) =>
            action(
              label,
              `${verb === "run" ? verb : "toggle"}-${job.id}`,
              () =>
                post(`${at(job.id)}/${verb}`).then(
                  () => `${job.name}: ${label.toLowerCase()} done`,
                ),
              {
                "aria-label": `${label}: ${job.name}`,
              },
            ),
          ),
        ),
    ],
  ];
  return {
    id,
    title,
    async load(job) {
      const [all, runs] = await Promise.all([
        attempt(get(root)),
        job === undefined
          ? undefined
          : attempt(get(`${at(job)}/runs?limit=${lengthOf(`runs-${job}`, 50)}`)),
      ]);
      return { all, runs };
    },
    render({ all, runs }, job) {
      const name =
        list(all.value ?? { jobs: [], polls: [] })?.find((each) => each.id === job)?.name ?? job;
      return h(
        "div",
        {},
        section(title, all, (value) => [table(columns, list(value), empty)]),
        runs
          ? opened(`Runs of ${name}`, runs, ({ runs: rows }) => [
              runTable(rows),
              more(`runs-${job}`, 50, rows.length),
            ])
          : null,
      );
    },
  };
}

function runTable(rows) {
  return table(
    [
      ["began", ({ startedAt }) => ago(startedAt)],
      ["status", ({ status }) => badge(status)],
      ["took", ({ durationMs }) => duration(durationMs)],
      ["by", ({ trigger }) => trigger ?? ""],
      [
        "outcome",
        ({ error, result, reason, count }) => [
          problem(error),
          reason ?? result ?? (count === undefined ? "" : `${count} new`),
        ],
      ],
    ],
    rows,
    "It has not run yet.",
  );
}

function scheduleText(schedule) {
  if (schedule.kind === "cron") return `${schedule.expr}${schedule.tz ? ` ${schedule.tz}` : ""}`;
  if (schedule.kind === "every") return `every ${duration(schedule.everyMs)}`;
  return `at ${new Date(schedule.at).toLocaleString()}`;
}
