/** The services that the gateway itself provides. */
import type { Bus } from "../host/bus.ts";
import type { ConfigStore } from "../config/config.ts";
import type { ConfigEdit } from "../config/edits.ts";
import { maskSecrets } from "../config/secrets.ts";
import type { WriteOptions } from "../config/write.ts";
import type { Paths } from "../contract/common.ts";
import type { Workers } from "../contract/workers.ts";
import type { HookHost } from "../host/extensions/hooks/host.ts";
import type { PluginHost } from "../host/extensions/plugins/host.ts";
import type { ServerRoutes } from "../contract/index.ts";
import type { LogBook } from "../log/log.ts";
import { type KeyPath, toKeyPath } from "../text/key-path.ts";
import { exposureNotices } from "./checks.ts";
import type { GatewayServers } from "./servers.ts";

/** The parts of a gateway that its services expose. */
interface Parts {
  readonly version: string;
  readonly id: string;
  readonly startedAt: number;
  readonly paths: Paths;
  readonly config: ConfigStore;
  readonly log: LogBook;
  readonly bus: Bus;
  readonly plugins: PluginHost;
  readonly hooks: HookHost;
  readonly servers: GatewayServers;
  readonly notReady: () => { name: string; error: string }[];
}

/** The state of the kernel, for metrics and the like. */
export type GatewayState = ReturnType<typeof createGatewayState>;

export function createGatewayState({
  id,
  startedAt,
  notReady,
  plugins,
  hooks,
  servers: { mainServer, pool, throttle, url, connections },
}: Parts) {
  return {
    /** Identifies the gateway: new at each start, and the same in all of its workers. */
    id,
    /** Milliseconds since 1970. */
    startedAt,
    /** The plugins that are not ready, as in `GET /ready`. */
    notReady,
    plugins: () => plugins.standings(),
    hooks: () =>
      hooks.list().map(({ name, state, root, health }) => ({ name, state, root, ...health })),
    /** The counts of the gateway's own responses since the start. `route` is a pattern, empty where none matched. */
    requests: () => mainServer.requests(),
    /** The throttle that counts refused credentials. */
    attempts: throttle,
    /** The number of requests in progress. */
    active: () => mainServer.active,
    /** The client connections of all servers, with their limits. */
    connections,
    /** Every route of every open server. */
    routes: (): ServerRoutes[] => [
      { server: "gateway", url: url(), routes: mainServer.routes() },
      ...pool.routes(),
    ],
  };
}

/**
 * The gateway's extensions, configuration and log, for the plugins that show and manage them. Unknown names throw an
 * error with status 404.
 */
export type Management = ReturnType<typeof createManagement>;

export function createManagement({ config, log, bus, servers, ...gateway }: Parts) {
  const { version, startedAt, paths, notReady } = gateway;
  const plugins: Pick<PluginHost, "list" | "standings" | "info" | "reload" | "rescan"> =
    gateway.plugins;
  const hooks: Pick<
    HookHost,
    | "roots"
    | "list"
    | "standings"
    | "info"
    | "look"
    | "logs"
    | "code"
    | "wake"
    | "approve"
    | "reload"
    | "rescan"
    | "tryOut"
  > = gateway.hooks;
  return {
    version,
    startedAt,
    paths,
    url: servers.url,
    /** The loopback servers that plugins opened, by name. */
    servers: servers.pool.urls,
    notReady,
    /** Notices about the gateway for its owner, one sentence each. */
    notices: (): string[] => exposureNotices(config.kernel.gateway),
    events: () => bus.specs(),
    config: {
      /** The reason why the file on disk is not active. */
      problem: () => config.problem,
      /** Applies the file now. */
      refresh: () => config.refresh(),
      async set(path: string | KeyPath, value: unknown): Promise<void> {
        await config.change([{ path: toKeyPath(path), value }], { mayLeaveOut: true });
      },
      /** Changes the file; see `ConfigStore`. There is no other way to change it. */
      change: (edits: readonly ConfigEdit[], options?: WriteOptions) =>
        config.change(edits, options),
      exported: () => config.exported(),
      import: (configuration: Readonly<Record<string, unknown>>, options?: WriteOptions) =>
        config.import(configuration, options),
      restore: (id: number | undefined, options?: WriteOptions) => config.restore(id, options),
      version: () => config.version(),
      versions: () => config.versions(),
      differences: (from?: number | string, to?: number | string) => config.differences(from, to),
      /** The changed keys that take effect at the next start. */
      awaitingStart: () => config.awaitingStart(),
      /** The parts that the gateway leaves out of the active configuration, and why. */
      leftOut: () => config.leftOut(),
      schema: () => config.composed,
      /** The active configuration, with secrets masked. */
      shown: () => maskSecrets(config.current, config.composed),
      /** The configuration in the file, without defaults, and with secrets masked. */
      written: () => maskSecrets(config.raw, config.composed),
    },
    log: { recent: log.recent, follow: log.follow },
    plugins,
    hooks,
  };
}

declare module "portico" {
  interface Services {
    workers: Workers;
    gateway: GatewayState;
    host: Management;
  }
}
