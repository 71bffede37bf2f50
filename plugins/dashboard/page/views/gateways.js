/** The page of gateways: those that share the store, and this one with its workers, memory, load and store. */
import { attempt, get } from "../api.js";
import {
  ago,
  badge,
  bytes,
  count,
  dataTable,
  duration,
  emptyText,
  facts,
  h,
  problem,
  section,
  numberColumn,
} from "../dom.js";

export const gateways = {
  id: "gateways",
  title: "Gateways",
  async load() {
    const [list, status, store] = await Promise.all([
      attempt(get("/gateways")),
      attempt(get("/kernel/status")),
      attempt(get("/store")),
    ]);
    return { list, status, store, load: status.value && loadSinceLast(status.value) };
  },
  render: ({ list, status, store, load }) => [
    section("Gateways that share the store", list, gatewayTable),
    section("This gateway", status, (value) => gatewayFacts(value, load)),
    section("Workers", status, ({ workers }) => workerTable(workers, load)),
    section("Store", store, storeFacts),
  ],
};

function gatewayTable({ gateways: rows }) {
  return dataTable({
    key: "gateways",
    rows,
    empty: "No gateway is running.",
    columns: [
      { title: "gateway", value: ({ name }) => name, cell: nameCell },
      { title: "address", value: ({ url }) => url },
      { title: "version", value: ({ version }) => version },
      numberColumn("process id", ({ pid }) => pid, String),
      numberColumn("workers", ({ workers }) => workers, count),
      { title: "started", value: ({ startedAt }) => startedAt, cell: (row) => ago(row.startedAt) },
      {
        title: "last seen",
        kind: "number",
        value: ({ ageMs }) => ageMs,
        cell: ({ ageMs, seenAt }) =>
          h("span", { title: seenAt }, `${Math.round(ageMs / 1000)} s ago`),
      },
    ],
  });
}

/** Shows the name of the gateway, and below it that of the machine if it differs. */
function nameCell({ name, host, isThis }) {
  return [
    name,
    isThis ? h("span", { class: "muted" }, " (this one)") : null,
    host === name ? null : h("div", { class: "muted small" }, host),
  ];
}

/** The last reading, `{ at, status }`: load is computed from the difference between two readings. */
let previous;
addEventListener("portico:signed-out", () => {
  previous = undefined;
});

/** Returns the CPU share and the requests per second of the gateway, and of each worker by its process id. */
function loadSinceLast(status) {
  const last = previous;
  previous = { at: performance.now(), status };
  if (last === undefined) return undefined;
  const seconds = (previous.at - last.at) / 1000;
  const rate = (now, before) => ({
    cpu: Math.max(0, (now.cpuMs - before.cpuMs) / 1000 / seconds),
    requests: Math.max(0, (totalOf(now) - totalOf(before)) / seconds),
  });
  const before = new Map(last.status.workers?.running.map((worker) => [worker.pid, worker]));
  const workers = (status.workers?.running ?? [])
    .filter(({ pid }) => before.has(pid))
    .map((worker) => [worker.pid, rate(worker, before.get(worker.pid))]);
  return { ...rate(status, last.status), workers: Object.fromEntries(workers) };
}

const totalOf = ({ requests }) => requests.total ?? requests;
const percent = (share) => (share === undefined ? "–" : `${Math.round(100 * share)} %`);
const perSecond = (rate) => `${rate.toFixed(1)} per second`;

function gatewayFacts(status, load) {
  const { version, pid, uptimeMs, url, servers, home, workspace, memory } = status;
  const { requests, connections } = status;
  return facts([
    ["version", version],
    ["process id", pid],
    ["running for", duration(uptimeMs)],
    ["memory", `${bytes(memory.rssBytes)} (heap ${bytes(memory.heapBytes)})`],
    ["processor", load && `${percent(load.cpu)} of one core`],
    [
      "requests",
      load ? `${count(requests.total)}, ${perSecond(load.requests)}` : count(requests.total),
    ],
    ["active requests", count(requests.active)],
    ["connections", `${count(connections.open)} of ${count(connections.limit)}`],
    ["refused connections", count(connections.refused)],
    ["address", url],
    ...Object.entries(servers).map(([name, address]) => [`${name} server`, address]),
    ["home", home],
    ["workspace", workspace],
  ]);
}

function workerTable(workers, load) {
  if (!workers)
    return emptyText(
      "The gateway runs as a single process. To add worker processes, set gateway.workers.",
    );
  const loadOf = ({ pid }) => load?.workers[pid];
  return dataTable({
    key: "workers",
    rows: workers.running,
    empty: "No worker is running.",
    columns: [
      { title: "worker", value: ({ worker }) => worker, cell: ({ worker }) => String(worker) },
      numberColumn("process id", ({ pid }) => pid, String),
      numberColumn("running for", ({ uptimeMs }) => uptimeMs, duration),
      numberColumn("memory", ({ rssBytes }) => rssBytes, bytes),
      numberColumn("processor", (worker) => loadOf(worker)?.cpu, percent),
      numberColumn("requests", ({ requests }) => requests, count),
      numberColumn("requests per second", (worker) => loadOf(worker)?.requests, rateText),
      numberColumn("active", ({ active }) => active, count),
    ],
  });
}

const rateText = (rate) => (rate === undefined ? "–" : rate.toFixed(1));

function storeFacts({ ok, problem: storeProblem, engine, bytes: size, schemaVersion, queue }) {
  const queued = Object.entries(queue?.kinds ?? {}).map(([kind, { queued = 0, dead = 0 }]) => [
    `queued: ${kind}`,
    dead > 0 ? `${count(queued)}, ${count(dead)} dead` : count(queued),
  ]);
  return [
    facts([
      ["state", badge(ok ? "ok" : "failed")],
      ["engine", engine],
      ["size", size === undefined ? undefined : bytes(size)],
      ["schema", schemaVersion],
      ...queued,
    ]),
    problem(storeProblem),
  ];
}
