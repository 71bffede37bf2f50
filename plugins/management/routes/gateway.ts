/** `/kernel/*`: the state, the events, the configuration and the log of the gateway. */
import { type Call, type Management, type Mount, type PluginContext, PorticoError } from "portico";
import type { Notice } from "portico/command-line";
import { openSse } from "portico/event-stream";
import type {} from "portico/cluster";
import type { Everywhere, WorkerStatus } from "../everywhere.ts";

type Mounting = Mount & Pick<PluginContext, "add" | "find" | "list">;

export function mountGatewayRoutes(mount: Mounting, gateway: Management, everywhere: Everywhere): void {
  const owner = { access: "gateway" } as const;
  const own: Notice = { name: "gateway", list: gateway.notices };
  mount.add("feed", { name: "log", ofOneGateway: true, begin: (send) => gateway.log.follow(send) });
  mount.route("GET", "/kernel/status", { ...owner, summary: "What runs, and what is wrong" }, async () => {
    const workers = await everywhere.status();
    const sum = (of: (one: WorkerStatus) => number) => workers.reduce((all, one) => all + of(one), 0);
    const count = mount.find("workers")?.count;
    const hooks = await everywhere.hooks();
    return {
      version: gateway.version,
      pid: count === undefined ? process.pid : process.ppid,
      uptimeMs: Math.max(...workers.map(({ uptimeMs }) => uptimeMs)),
      url: gateway.url(),
      servers: Object.assign({}, ...workers.map(({ servers }) => servers)) as Record<string, string>,
      home: gateway.paths.home,
      workspace: gateway.paths.workspace,
      memory: { rssBytes: sum(({ rssBytes }) => rssBytes), heapBytes: sum(({ heapBytes }) => heapBytes) },
      requests: { total: sum(({ requests }) => requests), active: sum(({ active }) => active) },
      config: { file: gateway.paths.config, problem: workers.find(({ problem }) => problem)?.problem },
      notReady: distinct(workers.flatMap(({ notReady }) => notReady)),
      plugins: gateway.plugins.list().map(({ name, state, error }) => ({ name, state, error })),
      hooks: hooks.map(({ name, state, error }) => ({ name, state, error })),
      notices: (await Promise.all([own, ...mount.list("notice")].map(textsOf))).flat(),
      workers:
        count === undefined ? undefined : { count, running: workers.sort((a, b) => a.worker - b.worker).map(shown) },
    };
  });
  mount.route("POST", "/kernel/config/refresh", { ...owner, summary: "Apply the file now" }, async () => {
    await gateway.config.refresh();
    return { problem: gateway.config.problem() ?? null };
  });
  mount.route("GET", "/kernel/events", { ...owner, summary: "All events, with what handlers may do" }, () => ({
    events: [...gateway.events()].map(([name, { mode, description, changes, effects, sample }]) => {
      return { name, mode, description, changes: changes ?? [], effects, sample };
    }),
  }));
  mount.route("GET", "/kernel/logs", { ...owner, summary: "The last lines; ?follow=true sends further ones" }, (call) =>
    serveLog(call, mount, gateway, everywhere),
  );
}

/** One that cannot say what it has to say must not keep the others from it. */
async function textsOf({ name, list }: Notice): Promise<{ from: string; text: string }[]> {
  try {
    return (await list()).map((text) => ({ from: name, text }));
  } catch (error) {
    return [{ from: name, text: `It cannot say how it does: ${(error as Error).message}` }];
  }
}

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"];

/** `?lines=N` gives the last lines, of `?level=L` and above; with `?follow=true` further ones come as server-sent events. */
async function serveLog(call: Call, { find }: Mounting, { log }: Management, { lines }: Everywhere): Promise<unknown> {
  const count = Number(call.query.get("lines") ?? 100);
  if (!Number.isInteger(count) || count < 0)
    throw new PorticoError("invalid_request_error", "lines is a number of lines.", { param: "lines" });
  const least = LEVELS.indexOf(call.query.get("level") ?? "trace");
  if (least === -1)
    throw new PorticoError("invalid_request_error", `level is one of ${LEVELS.join(", ")}.`, { param: "level" });
  const read = (line: string) => JSON.parse(line) as { level: string };
  const isWanted = ({ level }: { level: string }) => LEVELS.indexOf(level) >= least;
  const recent = count > 0 ? (await lines()).map(read).filter(isWanted).slice(-count) : [];
  if (call.query.get("follow") !== "true") return { lines: recent };
  const sse = openSse(call);
  const send = (entry: { level: string }) => isWanted(entry) && sse.send(undefined, entry);
  for (const entry of recent) send(entry);
  const follow = (line: unknown) => void send(read(line as string));
  const unfollow = [log.follow(follow), find("cluster")?.watch("log", follow)];
  sse.onClose(() => unfollow.forEach((undo) => void undo?.()));
  return undefined;
}

/** Of one worker: the rest is the same in all of them, or stands above. */
function shown({ worker, pid, uptimeMs, rssBytes, requests, active }: WorkerStatus) {
  return { worker, pid, uptimeMs, rssBytes, requests, active };
}

function distinct<T extends { name: string }>(all: readonly T[]): T[] {
  return [...new Map(all.map((one) => [one.name, one])).values()];
}
