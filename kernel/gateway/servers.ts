/** The gateway's own server, and the loopback ones that plugins open beside it. */
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
  /** Requests of the gateway's own server wait for this. */
  opens: Promise<unknown>;
  /** The others, where this is one of several workers: plugins' servers listen in the first. */
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
  const { tls } = settings(); // a change of it takes effect at the next start
  let wantedPort = 0;
  const connectionLimit = createConnectionLimit(() => {
    const { trustedProxies, http } = settings();
    return { ...http, trustedProxies };
  });
  /** A watcher that fails harms no response. */
  const tellWatchers = (request: EndedRequest): void => {
    for (const watcher of contributions.list("requestWatcher")) {
      try {
        watcher.ended(request);
      } catch (error) {
        log.error({ err: error, watcher: watcher.name }, "a request watcher failed");
      }
    }
  };
  const watchers = () =>
    contributions.list("requestWatcher").length > 0 ? tellWatchers : undefined;
  const changeWatchers = () => contributions.list("changeWatcher");
  const common = { log, access, settings, auth, connectionLimit, changeWatchers };
  const own = new HttpServer({ name: "gateway", ...common, watchers, opens, tls });
  const pool = createServerPool(({ name, origins, port, portOffset = 0 }) => {
    const server = new HttpServer({ name, ...common, loopbackOnly: true, origins });
    if (workers && workers.index > 0) return { server, ready: Promise.resolve() };
    return {
      server,
      ready: server.listen(port ?? (wantedPort === 0 ? 0 : own.port + portOffset), "127.0.0.1"),
    };
  });

  return {
    own,
    pool,
    throttle,
    connections: connectionLimit.counts,
    /** Where the gateway is reached from this machine. */
    url: () => `${tls ? "https" : "http"}://${hostForUrl(settings().bind)}:${own.port}`,
    ports: () => [own.port, ...pool.ports()],
    /** `port` 0: any free one, for the others too. With `shared`, another process listens at that port for this one. */
    async listen(port: number, shared?: number): Promise<void> {
      wantedPort = port;
      if (shared === undefined) await own.listen(port, settings().bind);
      else own.adopt(shared, settings().bind);
    },
    /** Resolves when running responses have ended, or were cut after `graceMs`. */
    drain: (graceMs: number): Promise<unknown> =>
      Promise.all([own.drain(graceMs), pool.drainAll(graceMs)]),
  };
}

export type GatewayServers = ReturnType<typeof createServers>;

function hostForUrl(bind: string): string {
  if (bind === "0.0.0.0" || bind === "::") return "127.0.0.1";
  return bind.includes(":") ? `[${bind}]` : bind;
}
