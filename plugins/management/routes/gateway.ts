/** `/kernel/*`: the state, the events, the configuration and the log of the gateway. */
import { type Call, type Management, type Mount, type Notice, openSse } from "portico";

export function mountGatewayRoutes(mount: Mount, gateway: Management, notices: () => readonly Notice[]): void {
  const owner = { access: "gateway" } as const;
  mount.route("GET", "/kernel/status", { ...owner, summary: "What runs, and what is wrong" }, async () => {
    const { rss: rssBytes, heapUsed: heapBytes } = process.memoryUsage();
    return {
      version: gateway.version,
      pid: process.pid,
      uptimeMs: Date.now() - gateway.startedAt,
      url: gateway.url(),
      servers: gateway.servers(),
      home: gateway.paths.home,
      workspace: gateway.paths.workspace,
      memory: { rssBytes, heapBytes },
      config: { file: gateway.paths.config, problem: gateway.config.problem() },
      notReady: gateway.notReady(),
      plugins: gateway.plugins.list().map(({ name, state, error }) => ({ name, state, error })),
      hooks: gateway.hooks.list().map(({ name, state, error }) => ({ name, state, error })),
      notices: (await Promise.all(notices().map(textsOf))).flat(),
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
    serveLog(call, gateway),
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
function serveLog(call: Call, { log }: Management): unknown {
  const count = Number(call.query.get("lines") ?? 100);
  const least = LEVELS.indexOf(call.query.get("level") ?? "trace");
  const read = (line: string) => JSON.parse(line) as { level: string };
  const isWanted = ({ level }: { level: string }) => LEVELS.indexOf(level) >= least;
  const recent = count > 0 ? log.recent().map(read).filter(isWanted).slice(-count) : [];
  if (call.query.get("follow") !== "true") return { lines: recent };
  const sse = openSse(call);
  const send = (entry: { level: string }) => isWanted(entry) && sse.send(undefined, entry);
  for (const entry of recent) send(entry);
  const unfollow = log.follow((line) => send(read(line)));
  call.signal.addEventListener("abort", unfollow, { once: true });
  return undefined;
}
