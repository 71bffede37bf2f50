/** The kernel's own routes: health, readiness, status, plugins, configuration, log. Those of hooks are beside the hooks. */
import { mountHookRoutes } from "./hook-routes.ts";
import { reply } from "../http/response/reply.ts";
import { openSse } from "../http/response/sse.ts";
import type { Call, Mount } from "../types.ts";
import type { GatewayParts } from "./types.ts";

export function mountKernelRoutes(mount: Mount, gateway: GatewayParts): void {
  const { plugins } = gateway;
  const owner = { access: "gateway" } as const;
  const uptimeMs = () => Date.now() - gateway.startedAt;

  mount.route("GET", "/health", { access: "public" }, () => ({
    status: "ok",
    version: gateway.version,
    uptimeMs: uptimeMs(),
  }));
  mount.route("GET", "/ready", { access: "public" }, () => {
    const waiting = gateway.unready();
    // Anyone may ask: names yes, reasons (which may quote files) no.
    const body = { status: waiting.length ? "not ready" : "ready", plugins: waiting.map(({ name }) => name) };
    return reply(waiting.length ? 503 : 200, body);
  });

  mount.route("GET", "/kernel/status", owner, () => ({
    version: gateway.version,
    pid: process.pid,
    uptimeMs: uptimeMs(),
    url: gateway.url,
    servers: gateway.servers(),
    home: gateway.paths.home,
    workspace: gateway.paths.workspace,
    memory: { rssBytes: process.memoryUsage.rss(), heapBytes: process.memoryUsage().heapUsed },
    config: { file: gateway.paths.config, problem: gateway.config.problem },
    notReady: gateway.unready(),
    plugins: plugins.list().map(({ name, state, error }) => ({ name, state, error })),
    hooks: gateway.hooks.list().map(({ name, state, error }) => ({ name, state, error })),
  }));

  mount.route("GET", "/kernel/plugins", owner, () => ({ plugins: plugins.list() }));
  mount.route("GET", "/kernel/plugins/:name", owner, ({ params }) => plugins.info(params["name"] ?? ""));
  mount.route("POST", "/kernel/plugins/:name/reload", owner, ({ params }) => plugins.reload(params["name"] ?? ""));
  for (const [action, enabled] of [
    ["enable", true],
    ["disable", false],
  ] as const) {
    mount.route("POST", `/kernel/plugins/:name/${action}`, owner, async ({ params }) => {
      const { name } = plugins.info(params["name"] ?? "");
      await gateway.config.set(["plugins", "entries", name, "enabled"], enabled);
      return plugins.info(name);
    });
  }
  mount.route("POST", "/kernel/plugins/rescan", owner, async () => {
    await plugins.rescan();
    return { plugins: plugins.list() };
  });

  mount.route("POST", "/kernel/config/refresh", owner, async () => {
    await gateway.config.refresh();
    return { problem: gateway.config.problem ?? null };
  });
  mount.route("GET", "/kernel/events", owner, () => ({
    events: [...gateway.bus.specs()].map(([name, { mode, description, changes, sample }]) => {
      return { name, mode, description, changes: changes ?? [], sample };
    }),
  }));
  mount.route("GET", "/kernel/logs", owner, (call) => serveLog(call, gateway));
  mountHookRoutes(mount, gateway.hooks);
}

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"];

/** `?lines=N` gives the last lines, of `?level=L` and above; with `?follow=true` further ones come as server-sent events. */
function serveLog(call: Call, { log }: GatewayParts): unknown {
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
