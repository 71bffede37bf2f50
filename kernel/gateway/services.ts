/** The services that the gateway itself provides. */
import type { TSchema } from "@sinclair/typebox";
import type { Dispose, Paths } from "../contract/common.ts";
import type { Workers } from "../contract/workers.ts";
import type { EventSpec } from "../contract/events.ts";
import type { HookHost } from "../extensions/hooks/host.ts";
import type { PluginHost } from "../extensions/plugins/host.ts";
import type { ServerRoutes } from "../http/types.ts";

/** What the kernel tells of itself; for metrics and the like. */
export interface GatewayState {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** As in `GET /ready`. */
  notReady(): readonly { name: string; error: string }[];
  plugins(): readonly { name: string; state: string; error?: string }[];
  hooks(): readonly { name: string; state: string; root: string; runs: number; failures: number }[];
  /** Answered requests since the start, of the gateway's own server. `route` is a pattern, empty where none matched. */
  requests(): readonly { method: string; route: string; status: number; count: number }[];
  /** Requests that are being answered. */
  active(): number;
  /** Every route of every server that is there now. */
  routes(): readonly ServerRoutes[];
}

/** Why the configuration file on disk is not in force. */
interface ReloadProblem {
  message: string;
  line?: number;
}

/** The gateway's extensions, configuration and log, for those who show and steer them. Names that are not there: 404. */
export interface Management {
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly paths: Paths;
  url(): string;
  /** The loopback servers that plugins opened, by name. */
  servers(): Record<string, string>;
  notReady(): readonly { name: string; error: string }[];
  events(): ReadonlyMap<string, EventSpec>;
  readonly config: {
    problem(): ReloadProblem | undefined;
    /** Applies the file now. */
    refresh(): Promise<void>;
    set(path: string | readonly (string | number)[], value: unknown): Promise<void>;
    unset(path: string): Promise<void>;
    schema(): TSchema;
    /** What is active, secrets masked. */
    shown(): unknown;
  };
  readonly log: {
    /** The last lines, oldest first, as JSON. */
    recent(): readonly string[];
    follow(line: (line: string) => void): Dispose;
  };
  readonly plugins: Pick<PluginHost, "list" | "info" | "reload" | "rescan">;
  readonly hooks: Pick<
    HookHost,
    "roots" | "list" | "info" | "look" | "logs" | "wake" | "approve" | "reload" | "rescan" | "tryOut"
  >;
}

declare module "portico" {
  interface Services {
    workers: Workers;
    gateway: GatewayState;
    host: Management;
  }
}
