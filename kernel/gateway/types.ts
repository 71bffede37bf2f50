/** What a gateway is started with, and what it is once it runs. */
import type { Socket } from "node:net";
import type { Bus } from "../bus.ts";
import type { ConfigStore } from "../config/config.ts";
import type { Loader } from "../modules/load.ts";
import type { HookHost } from "../extensions/hooks/host.ts";
import type { LogBook } from "../log/log.ts";
import type { PluginHost } from "../extensions/plugins/host.ts";
import type { WorkerLink } from "../contract/workers.ts";
import type { ContributionPoint, Contributions, Paths, ServiceName, Services } from "../types.ts";

export interface GatewayOptions {
  paths: Paths;
  env: Record<string, string | undefined>;
  version: string;
  loader: Loader;
  /** Replaces `gateway.port` of the configuration. */
  port?: number;
  /** Only these plugins run; the others are known (their configuration is checked) and stay off. */
  only?: readonly string[];
  /** Where it is one of several processes of a gateway. */
  link?: WorkerLink | undefined;
  /** Where log lines go beside the log file. */
  write?: (line: string) => void;
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  /** The owner's token; undefined where only a password is set. */
  readonly token: string | undefined;
  /** True when the token was made at this start. */
  readonly tokenIsNew: boolean;
  /** The loopback servers that plugins opened, by name. */
  readonly servers: Readonly<Record<string, string>>;
  readonly log: LogBook;
  readonly config: ConfigStore;
  readonly plugins: PluginHost;
  readonly hooks: HookHost;
  readonly bus: Bus;
  /** What plugins contribute to a point. */
  list<K extends ContributionPoint>(point: K): readonly Contributions[K][];
  /** A service that a plugin provides. Throws `service_unavailable` where none does. */
  use<K extends ServiceName>(name: K): Services[K];
  /** Serves a connection that another process has accepted. */
  accept(socket: Socket): void;
  /** Resolves when running answers, turns and plugins have ended, at the latest after `gateway.shutdownTimeoutMs`. */
  stop(reason: string): Promise<void>;
}
