import type { HomeOnDisk, ServiceName, Services } from "portico";
import type { GatewayClient } from "./client.ts";

/** An option of a command. The command line parses the words and prints the help from its definition. */
export interface OptionSpec {
  type: "string" | "number" | "boolean" | "list";
  description: string;
  short?: string;
  /** The placeholder for the value in help, such as `N` in `--port N`. */
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
  /** A line for the list of commands. */
  summary: string;
  /** Further help in full sentences. */
  description?: string;
  args?: readonly ArgSpec[];
  options?: Record<string, OptionSpec>;
  examples?: readonly string[];
  commands?: readonly Command[];
  /** The route that the command calls, if `commandFor` created it. */
  route?: string;
  /** The server that has this route. Default: the gateway's own. */
  server?: string;
  /** Throw an Error to report a failure: its message is printed on stderr in one line, and the exit code is 1. */
  run?(io: CommandIO): Promise<void> | void;
}

export interface CommandIO {
  args: Record<string, string | undefined> & { rest?: string[] };
  options: Record<string, string | number | boolean | string[] | undefined>;
  /** True if the user passed `--json`. */
  json: boolean;
  /** Prints a line on stdout with its control characters escaped. `tone` colours it on a terminal. */
  print(line?: string, tone?: "warn" | "error"): void;
  /** Prints a line of the gateway's log in a readable form, with its time, level and fields. */
  printLog(line: string): void;
  /** Prints the value as JSON if `--json` is set, else the lines that `human` returns for it. */
  show<T>(value: T, human: (value: T) => string | readonly string[]): void;
  /** Returns the lines of a table with aligned columns. Without rows, returns only the header. */
  table(
    head: readonly string[],
    rows: readonly (readonly (string | number | undefined)[])[],
  ): string[];
  /** Reports the progress of long work on stderr: in one updated line on a terminal, in plain lines elsewhere. */
  progress(text: string): void;
  /** Opens the home on disk, for commands that work without a gateway. */
  home(): HomeOnDisk;
  /** The client for the running gateway, over HTTP with its token. */
  gateway: GatewayClient;
  /** Aborted by SIGINT. */
  signal: AbortSignal;
  cwd: string;
  env: Record<string, string | undefined>;
  /** Runs a gateway in this process until a signal stops it. Does not return. */
  serve(part: ServePart): Promise<void>;
}

/** The gateway that a command runs in its own process, such as one with only a few plugins. */
export interface ServePart {
  /** The names of the plugins to run. If it is missing, the home's gateway runs, and prints its banner. */
  only?: readonly string[];
  /** 0 selects any free port. */
  port?: number;
  /** Called when the gateway is running. A rejection stops the gateway, and the command fails. */
  started?(gateway: { use<K extends ServiceName>(name: K): Services[K] }): unknown;
}

/** Returns the command unchanged. The compiler checks its definition. */
export function defineCommand(command: Command): Command {
  return command;
}
