/** What runs: this gateway, its workers, the gateways that share its store, and the store itself. */
import { attempt, get } from "../api.js";
import { bytes, count, dataTable, duration, facts, h, section } from "../dom.js";

export const gateways = {
  id: "gateways",
  title: "Gateways and workers",
  async load() {
    const [status, store] = await Promise.all([
      attempt(get("/kernel/status")),
      attempt(get("/store")),
    ]);
    return { status, store };
  },
  render: ({ status, store }) => [
    section("This gateway", status, gatewayFacts),
    section("Workers", status, ({ workers }) => workerTable(workers)),
    section("Store", store, storeFacts),
  ],
};

function gatewayFacts({
  version,
  pid,
  uptimeMs,
  url,
  servers,
  home,
  memory,
  requests,
  connections,
}) {
  return facts([
    ["version", version],
    ["process", pid],
    ["running for", duration(uptimeMs)],
    ["address", url],
    ...Object.entries(servers),
    ["home", home],
    ["memory", `${bytes(memory.rssBytes)}, of it heap ${bytes(memory.heapBytes)}`],
    ["requests", `${count(requests.total)}, ${requests.active} active`],
    ["connections", `${connections.open} of ${connections.limit}`],
    ["refused connections", connections.refused],
  ]);
}

function workerTable(workers) {
  if (!workers)
    return h(
      "p",
      { class: "empty" },
      "One process does all the work. Set gateway.workers for more.",
    );
  return dataTable({
    key: "workers",
    rows: workers.running,
    empty: "No worker is running.",
    columns: [
      { title: "worker", cell: ({ worker }) => String(worker), value: ({ worker }) => worker },
      { title: "process", kind: "number", cell: ({ pid }) => String(pid) },
      {
        title: "running for",
        kind: "number",
        cell: ({ uptimeMs }) => duration(uptimeMs),
        value: ({ uptimeMs }) => uptimeMs,
      },
      {
        title: "memory",
        kind: "number",
        cell: ({ rssBytes }) => bytes(rssBytes),
        value: ({ rssBytes }) => rssBytes,
      },
      {
        title: "requests",
        kind: "number",
        cell: ({ requests }) => count(requests),
        value: ({ requests }) => requests,
      },
      {
        title: "active",
        kind: "number",
        cell: ({ active }) => count(active),
        value: ({ active }) => active,
      },
    ],
  });
}

function storeFacts({ ok, problem, engine, bytes: size }) {
  return facts([
    ["state", ok ? "sound" : (problem ?? "not well")],
    ["engine", engine],
    ["size", size === undefined ? undefined : bytes(size)],
  ]);
}
