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

/** The parts of a gateway that its services show. */
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
export type GatewayState = ReturnType<typeof stateOf>;

export function stateOf({
  id,
  startedAt,
  notReady,
  plugins,
  hooks,
  servers: { own, pool, throttle, url, connections },
}: Parts) {
  return {
    /** Names the gateway: new at each start, and the same in all of its workers. */
    id,
    /** Milliseconds since 1970. */
    startedAt,
    /** As in `GET /ready`. */
    notReady,
    plugins: () => plugins.standings(),
    hooks: () =>
      hooks.list().map(({ name, state, root, health }) => ({ name, state, root, ...health })),
    /** Responses since the start, of the gateway's own server. `route` is a pattern, empty where none matched. */
    requests: () => own.requests(),
    /** Of credentials that were refused. */
    attempts: throttle,
    /** Requests that are under way. */
    active: () => own.active,
    /** Client connections of all servers, with their limits. */
    connections,
    /** Every route of every server that is there now. */
    routes: (): ServerRoutes[] => [
      { server: "gateway", url: url(), routes: own.routes() },
      ...pool.routes(),
    ],
  };
}

/** The gateway's extensions, configuration and log, for those who show and steer them. Names that are not there: 404. */
export type Management = ReturnType<typeof managementOf>;

export function managementOf({ config, log, bus, servers, ...gateway }: Parts) {
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
    /** What its owner should know of the gateway itself, a sentence each. */
    notices: (): string[] => exposureNotices(config.kernel.gateway),
    events: () => bus.specs(),
    config: {
      /** Why the file on disk is not active. */
      problem: () => config.problem,
      /** Applies the file now. */
      refresh: () => config.refresh(),
      async set(path: string | KeyPath, value: unknown): Promise<void> {
        await config.change([{ path: toKeyPath(path), value }], { mayLeaveOut: true });
      },
      /** See `ConfigStore`: the one way in which the file is changed. */
      change: (edits: readonly ConfigEdit[], how?: WriteOptions) => config.change(edits, how),
      exported: () => config.exported(),
      import: (configuration: Readonly<Record<string, unknown>>, how?: WriteOptions) =>
        config.import(configuration, how),
      restore: (id: number | undefined, how?: WriteOptions) => config.restore(id, how),
      version: () => config.version(),
      versions: () => config.versions(),
      differences: (from?: number | string, to?: number | string) => config.differences(from, to),
      /** Keys that were changed and wait for the next start. */
      awaitingStart: () => config.awaitingStart(),
      /** What the gateway leaves out of the active configuration, and why. */
      leftOut: () => config.leftOut(),
      schema: () => config.composed,
      /** What is active, secrets masked. */
      shown: () => maskSecrets(config.current, config.composed),
      /** What the file says: without defaults, secrets masked. */
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
