/** `/kernel/*`: the state, the events and the configuration of the gateway. */
import { type Management, type Mount, type PluginContext, reply } from "portico";
import type { Notice } from "portico/command-line";
import { type AllWorkers, mergeHooks, type WorkerStatus } from "../all-workers.ts";
import { configNotices } from "../config/notices.ts";
import { findUnknownEvents } from "../hooks/unknown-events.ts";
import { certificateNotices } from "./certificate.ts";
import { coalesce } from "./coalesce.ts";
import { configRoutes, gatewayRoutes } from "./routes-schema.ts";
import { cachedStandingsJson } from "./standings-text.ts";

type Mounting = Mount & Pick<PluginContext, "find" | "list">;

export function mountGatewayRoutes(
  mount: Mounting,
  gateway: Management,
  allWorkers: AllWorkers,
): void {
  const gatewayNotice: Notice = {
    name: "gateway",
    list: async () => [...gateway.notices(), ...(await certificateNotices(gateway.url()))],
  };
  const hooksNotice: Notice = { name: "hooks", list: async () => findUnknownEvents(gateway) };
  const configNotice: Notice = {
    name: "configuration",
    list: () => configNotices(gateway.config),
  };
  const [pluginsText, hooksText] = [cachedStandingsJson(), cachedStandingsJson()];
  const status = coalesce(async () => {
    const workers = await allWorkers.status();
    const count = mount.find("workers")?.count;
    const allNotices = [gatewayNotice, configNotice, hooksNotice, ...mount.list("notice")];
    const notices = (await Promise.all(allNotices.map(listNotice))).flat();
    const summary = summarizeGateway(gateway, workers, { count, notices });
    const standings = `"plugins":${pluginsText(gateway.plugins.standings())},"hooks":${hooksText(mergeHooks(workers))}`;
    const text = `{${standings},${JSON.stringify(summary).slice(1)}`;
    return reply(200, text, { "content-type": "application/json; charset=utf-8" });
  });
  mount.route("GET", "/kernel/status", gatewayRoutes.status, status);
  mount.route("POST", "/kernel/config/refresh", configRoutes.refresh, async () => {
    await gateway.config.refresh();
    const leftOut = await gateway.config.leftOut();
    return { problem: gateway.config.problem() ?? null, leftOut };
  });
  mount.route("GET", "/kernel/events", gatewayRoutes.events, () => ({
    events: [...gateway.events()].map(([name, { mode, description, changes, effects, sample }]) => {
      return { name, mode, description, changes: changes ?? [], effects, sample };
    }),
  }));
}

/**
 * Summarises the status of all workers. `count` is the configured number of workers, if there are several. Sorts `workers`.
 */
function summarizeGateway(
  gateway: Management,
  workers: WorkerStatus[],
  { count, notices }: { count: number | undefined; notices: readonly object[] },
) {
  const sum = (countOf: (worker: WorkerStatus) => number) =>
    workers.reduce((total, worker) => total + countOf(worker), 0);
  return {
    version: gateway.version,
    pid: count === undefined ? process.pid : process.ppid,
    uptimeMs: Math.max(...workers.map(({ uptimeMs }) => uptimeMs)),
    url: gateway.url(),
    servers: Object.assign({}, ...workers.map(({ servers }) => servers)) as Record<string, string>,
    home: gateway.paths.home,
    workspace: gateway.paths.workspace,
    memory: {
      rssBytes: sum(({ rssBytes }) => rssBytes),
      heapBytes: sum(({ heapBytes }) => heapBytes),
    },
    cpuMs: sum(({ cpuMs }) => cpuMs),
    requests: { total: sum(({ requests }) => requests), active: sum(({ active }) => active) },
    connections: {
      open: sum(({ connections }) => connections.open),
      limit: sum(({ connections }) => connections.limit),
      perAddress: sum(({ connections }) => connections.perAddress),
      refused: sum(({ connections }) => connections.refused),
      displaced: sum(({ connections }) => connections.displaced),
    },
    config: {
      file: gateway.paths.config,
      problem: workers.find(({ problem }) => problem)?.problem,
      awaitingStart: gateway.config.awaitingStart(),
    },
    notReady: distinctByName(workers.flatMap(({ notReady }) => notReady)),
    notices,
    workers:
      count === undefined
        ? undefined
        : { count, running: workers.sort((a, b) => a.worker - b.worker).map(summarizeWorker) },
  };
}

/** Returns the texts of a notice. A failure becomes a text itself, so that it does not hide other notices. */
async function listNotice({ name, list }: Notice): Promise<{ from: string; text: string }[]> {
  try {
    return (await list()).map((text) => ({ from: name, text }));
  } catch (error) {
    return [{ from: name, text: `The plugin's notices are unknown: ${(error as Error).message}` }];
  }
}

/** Returns a worker's values for the status. All other values are the same in all workers, or are totals in the summary. */
function summarizeWorker(status: WorkerStatus) {
  const { worker, pid, uptimeMs, rssBytes, cpuMs, requests, active } = status;
  return { worker, pid, uptimeMs, rssBytes, cpuMs, requests, active };
}

function distinctByName<T extends { name: string }>(all: readonly T[]): T[] {
  return [...new Map(all.map((entry) => [entry.name, entry])).values()];
}
