/** Creates the gateway's own server, and the loopback servers that plugins open. */
import type { ConfigStore } from "../config/config.ts";
import { Auth } from "../http/access/auth.ts";
import { createConnectionLimit } from "../http/connection-limit.ts";
import { createServerPool } from "../http/pool.ts";
import { HttpServer } from "../http/server.ts";
import { createThrottle } from "../http/access/throttle.ts";
import type { LogBook } from "../log/log.ts";
import type { ContributionRegistry } from "../host/registry.ts";
import type { EndedRequest, Logger, Workers } from "../contract/index.ts";

export interface ServersOptions {
  config: ConfigStore;
  contributions: ContributionRegistry;
  log: Logger;
  access: LogBook["access"];
  /** Requests of the gateway's own server wait until this resolves. */
  opens: Promise<unknown>;
  /** The workers of the gateway, if there are several. The servers of plugins listen in the first worker only. */
  workers: Workers | undefined;
}

export function createServers({
  config,
  contributions,
  log,
  access,
  opens,
  workers,
}: ServersOptions) {
  const settings = () => config.kernel.gateway;
  const throttle = createThrottle();
  const auth = new Auth({
    settings: () => settings().auth,
    authenticators: () => contributions.list("authenticator"),
    log,
    throttle,
  });
  const { tls } = settings(); // a change takes effect at the next start
  let requestedPort = 0;
  const connectionLimit = createConnectionLimit(() => {
    const { trustedProxies, http } = settings();
    return { ...http, trustedProxies };
  });
  /** Notifies the watchers. A watcher that fails does not affect the response. */
  const notifyWatchers = (request: EndedRequest): void => {
    for (const watcher of contributions.list("requestWatcher")) {
      try {
        watcher.ended(request);
      } catch (error) {
        log.error({ err: error, watcher: watcher.name }, "a request watcher failed");
      }
    }
  };
  const watchers = () =>
    contributions.list("requestWatcher").length > 0 ? notifyWatchers : undefined;
  const changeWatchers = () => contributions.list("changeWatcher");
  const common = { log, access, settings, auth, connectionLimit, changeWatchers };
  const mainServer = new HttpServer({ name: "gateway", ...common, watchers, opens, tls });
  const pool = createServerPool(({ name, origins, port, portOffset = 0 }) => {
    const server = new HttpServer({ name, ...common, loopbackOnly: true, origins });
    if (workers && workers.index > 0) return { server, ready: Promise.resolve() };
    return {
      server,
      ready: server.listen(
        port ?? (requestedPort === 0 ? 0 : mainServer.port + portOffset),
        "127.0.0.1",
      ),
    };
  });

  return {
    mainServer,
    pool,
    throttle,
    connections: connectionLimit.counts,
    /** The gateway's URL on this machine. */
    url: () => `${tls ? "https" : "http"}://${hostForUrl(settings().bind)}:${mainServer.port}`,
    ports: () => [mainServer.port, ...pool.ports()],
    /**
     * Listens at `port`; 0 means any free port, also for the servers of plugins. With `shared`, another process listens
     * at that port for this one.
     */
    async listen(port: number, shared?: number): Promise<void> {
      requestedPort = port;
      if (shared === undefined) await mainServer.listen(port, settings().bind);
      else mainServer.adopt(shared, settings().bind);
    },
    /** Resolves when all responses have ended, or were cut after `graceMs`. */
    drain: (graceMs: number): Promise<unknown> =>
      Promise.all([mainServer.drain(graceMs), pool.drainAll(graceMs)]),
  };
}

export type GatewayServers = ReturnType<typeof createServers>;

function hostForUrl(bind: string): string {
  if (bind === "0.0.0.0" || bind === "::") return "127.0.0.1";
  return bind.includes(":") ? `[${bind}]` : bind;
}
