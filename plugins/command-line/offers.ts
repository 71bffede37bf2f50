/**
 * Contributions of plugins to the command line, besides commands. Templates and checks work without the plugin's `setup`.
 */
import type { Paths } from "portico";
import type { GatewayClient } from "./client.ts";

/** A template for new plugins. */
export interface PluginTemplate {
  /** Returns the files by name, `plugin.ts` among them. `packageDir` is the directory of this installation. */
  files(name: string, packageDir: string): Record<string, string>;
  /** Returns the instructions for trying the new plugin, in a few lines. */
  tryIt(name: string): string;
}

/** One result of a check. */
export interface Finding {
  level: "ok" | "warning" | "error";
  /** The result in words. */
  message: string;
  /** The remedy, in full sentences: "Run `portico start`." */
  remedy?: string | undefined;
}

export interface CheckContext {
  /** The whole configuration, with defaults. */
  config: Readonly<Record<string, unknown>>;
  paths: Paths;
  env: Readonly<Record<string, string | undefined>>;
  /** The client for the running gateway, or undefined if none responds. */
  gateway: GatewayClient | undefined;
}

/** Checks the requirements of a plugin. An exception counts as an error. Runs on the command line, and may take seconds. */
export type HealthCheck = (context: CheckContext) => Promise<readonly Finding[]>;

/** Lines that `portico start` prints. */
export interface Banner {
  name: string;
  /** Returns rows of a name and a value: `["Base URL", "http://…/v1"]`. */
  rows?(at: { url: string; token: string }): readonly (readonly [string, string])[];
  /** Returns a command that can be pasted into a shell. */
  example?(at: { url: string; token: string }): string;
}

/** Notices in `portico status`: facts that the owner should know, and faults to repair. */
export interface Notice {
  name: string;
  /** Returns the notices, a sentence each. */
  list(): readonly string[] | Promise<readonly string[]>;
}
