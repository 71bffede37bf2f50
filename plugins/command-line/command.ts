import type { HomeOnDisk, ServiceName, Services } from "portico";
import type { GatewayClient } from "./client.ts";

/** What a subcommand of `portico` is made of: the command line parses, prints help and reports errors by it. */
export interface OptionSpec {
  type: "string" | "number" | "boolean" | "list";
  description: string;
  short?: string;
  /** The word for the value in help: `--port N`. */
  value?: string;
  choices?: readonly string[];
}

export interface ArgSpec {
  name: string;
  description?: string;
  optional?: boolean;
  /** Takes all remaining words. */
  rest?: boolean;
}

export interface Command {
  name: string;
  /** One line, for the list of commands. */
  summary: string;
  /** Further help: what it is for, in plain words. */
  description?: string;
  args?: readonly ArgSpec[];
  options?: Record<string, OptionSpec>;
  examples?: readonly string[];
  commands?: readonly Command[];
  /** The route that it asks, where `commandFor` made it of one. */
  route?: string;
  /** The server that has this route. Default: the gateway's own. */
  server?: string;
  /** Throw an Error for failure: its message goes to stderr in one line and the exit code is 1. */
  run?(io: CommandIO): Promise<void> | void;
}

export interface CommandIO {
  args: Record<string, string | undefined> & { rest?: string[] };
  options: Record<string, string | number | boolean | string[] | undefined>;
  /** `--json` was given. */
  json: boolean;
  /** Prints a line on stdout, without control characters; the tone colours it on a terminal. */
  print(line?: string, tone?: "warn" | "error"): void;
  /** Prints a line of the gateway's log for a person, who gets its time, level and fields. */
  printLog(line: string): void;
  /** `--json`: prints the value as JSON; else the lines that `human` makes of it. */
  show<T>(value: T, human: (value: T) => string | readonly string[]): void;
  /** Aligned columns; nothing but the header where there are no rows. */
  table(
    head: readonly string[],
    rows: readonly (readonly (string | number | undefined)[])[],
  ): string[];
  /** Progress of long work: a moving line on a terminal, plain lines elsewhere, on stderr. */
  progress(text: string): void;
  /** The home on disk, for what works without a gateway. */
  home(): HomeOnDisk;
  /** The running gateway, over HTTP with its token. */
  gateway: GatewayClient;
  /** Aborted by SIGINT. */
  signal: AbortSignal;
  cwd: string;
  env: Record<string, string | undefined>;
  /** Runs a gateway with a few plugins only as this process, until a signal ends it. Does not return. */
  serve(part: ServePart): Promise<void>;
}

/** A gateway of a few plugins, on loopback, for a command that works by itself. */
export interface ServePart {
  /** Names of the plugins that run; without, it is the home's gateway, with its banner. */
  only?: readonly string[];
  /** 0: any free one. */
  port?: number;
  /** Called once it runs. A rejection stops it and fails the command. */
  started?(gateway: { use<K extends ServiceName>(name: K): Services[K] }): unknown;
}

/** Checks a command's definition at compile time. */
export function defineCommand(command: Command): Command {
  return command;
}
