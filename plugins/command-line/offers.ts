/** What plugins offer to those who work on the command line, beside commands; nothing of it needs their `setup`. */
import type { Paths } from "portico";
import type { GatewayClient } from "./client.ts";

/** A plugin to start from. */
export interface PluginTemplate {
  /** File name → text; `plugin.ts` among them. `packageDir`: of this installation. */
  files(name: string, packageDir: string): Record<string, string>;
  /** How to try it, in a few lines. */
  tryIt(name: string): string;
}

/** One result of a check. */
export interface Finding {
  level: "ok" | "warning" | "error";
  /** What the check found. */
  message: string;
  /** How to repair it, in full sentences: "Run `portico start`." */
  remedy?: string | undefined;
}

export interface CheckContext {
  /** Everything that the configuration says, with defaults. */
  config: Readonly<Record<string, unknown>>;
  paths: Paths;
  env: Readonly<Record<string, string | undefined>>;
  /** The running gateway; undefined where none responds. */
  gateway: GatewayClient | undefined;
}

/** Examines what a plugin needs. An exception counts as a fault. Runs on the command line and may take seconds. */
export type HealthCheck = (context: CheckContext) => Promise<readonly Finding[]>;

/** Lines of what `portico start` prints. */
export interface Banner {
  name: string;
  /** Rows of a name and what it is: `["Base URL", "http://…/v1"]`. */
  rows?(at: { url: string; token: string }): readonly (readonly [string, string])[];
  /** A command that can be pasted into a shell. */
  example?(at: { url: string; token: string }): string;
}

/** What `portico status` shows beside what runs: facts that the owner should know, or faults to repair. */
export interface Notice {
  name: string;
  /** A sentence each; none: there is nothing to say. */
  list(): readonly string[] | Promise<readonly string[]>;
}
