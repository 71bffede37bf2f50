/** The services that the gateway itself provides. */
import type { Dispose, Paths } from "../contract/common.ts";
import type { EventSpec } from "../contract/events.ts";
import type { HookInfo, HookLogLine, HookTrial, HookTrialEvent, PluginRecord } from "../contract/records.ts";
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
export interface ReloadProblem {
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
    set(path: readonly (string | number)[], value: unknown): Promise<void>;
  };
  readonly log: {
    /** The last lines, oldest first, as JSON. */
    recent(): readonly string[];
    follow(line: (line: string) => void): Dispose;
  };
  readonly plugins: {
    list(): PluginRecord[];
    info(name: string): PluginRecord;
    reload(name: string): Promise<PluginRecord>;
    rescan(): Promise<void>;
  };
  readonly hooks: {
    roots(): readonly { name: string; dir: string }[];
    list(): HookInfo[];
    info(name: string): HookInfo;
    /** The last lines, oldest first. */
    logs(name: string, count: number): HookLogLine[];
    /** One that tripped is called again. */
    wake(name: string): Promise<HookInfo>;
    approve(name: string): Promise<HookInfo>;
    reload(name?: string): Promise<HookInfo[]>;
    rescan(): Promise<void>;
    /** As `info`, once what is being done is done. */
    look(name: string): Promise<HookInfo>;
    /** Runs it by hand with the event that `eventFor` makes of those that it handles; nothing is done of what it asks for. */
    tryOut(name: string, eventFor: (events: readonly string[]) => HookTrialEvent): Promise<HookTrial>;
  };
}
