import type { TSchema } from "@sinclair/typebox";
import type { Dispose, Paths } from "./common.ts";
import type { EventOutline } from "./events.ts";
import type { ServiceName, Services } from "./services.ts";

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
  table(head: readonly string[], rows: readonly (readonly (string | number | undefined)[])[]): string[];
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

/** A plugin to start from. */
export interface PluginTemplate {
  /** File name → text; `plugin.ts` among them. `packageDir`: of this installation. */
  files(name: string, packageDir: string): Record<string, string>;
  /** How to try it, in a few lines. */
  tryIt(name: string): string;
}

/**
 * A configuration file, checked against the sections of all plugins that its home would load. Keys are written as
 * `a.b[0]`; one that nobody knows is refused with the one that was probably meant.
 */
export interface ConfigFile {
  readonly file: string;
  /** What it says, with defaults. */
  readonly current: Readonly<Record<string, unknown>>;
  /** All sections together. */
  readonly schema: TSchema;
  /** Throws a `config_error` whose `details.problems` are a `ConfigProblem` each. */
  check(): void;
  /** One key, or everything; secrets as `********` unless they are to be revealed. */
  get(key?: string, reveal?: boolean): unknown;
  /** Writes a key: words that are JSON5 as what they mean, others as text. A value that would not load is refused. */
  set(key: string, words: string): Promise<{ written: unknown; atNextStart: boolean; undo: Dispose | undefined }>;
  /** Removes a key; resolves with the undo, undefined where it was not there. */
  unset(key: string): Promise<Dispose | undefined>;
}

/** `gateway.json` of a home, where it is true. */
export interface RunningGateway {
  pid: number;
  port: number;
  url: string;
  /** The file with its certificate, where it speaks TLS. */
  cert?: string;
}

/** A home as it lies on disk. Nothing of it is set up; a broken configuration stops only what needs it. */
export interface HomeOnDisk {
  /** The workspace is the configured one; a gateway may have been started with another. */
  readonly paths: Paths;
  /** The gateway that runs from this home. */
  running(): RunningGateway | undefined;
  /** The port of its gateway and the secret that it takes, by what the configuration says now. */
  access(): Promise<{ port: number | string; secret: string | undefined }>;
  /** Command word → its definition, and lines for newcomers: of the plugin that is known to have the word, or of all. */
  commands(word?: string): Promise<{
    byWord: ReadonlyMap<string, () => Promise<{ default: Command }>>;
    firstSteps: readonly (readonly [line: string, what: string])[];
  }>;
  /** The configuration's file, or another one. Throws a `config_error` where it cannot be read. */
  config(file?: string): Promise<ConfigFile>;
  /** The plugins that do not load. */
  broken(): Promise<readonly { name: string; entry: string; reason: string }[]>;
  /** Kind → the files of a plugin of that kind, as its plugins offer them. */
  templates(): Promise<ReadonlyMap<string, () => Promise<{ default: PluginTemplate }>>>;
  /** What is looked at → how, as its plugins offer them. */
  checks(): Promise<ReadonlyMap<string, () => Promise<{ default: HealthCheck }>>>;
  /** Event → its declaration: the kernel's, and those of its plugins. */
  events(): Promise<Record<string, EventOutline>>;
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

export interface RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string>;
  /** Another server of the gateway, by its name: its port is asked from `/kernel/status`. */
  server?: string;
  timeoutMs?: number;
}

export interface GatewayClient {
  /** The response's JSON. An error response is thrown with its message; no gateway there says how to start one. */
  request<T = unknown>(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<T>;
  /** The response's bytes as they come (SSE feeds, files). */
  stream(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<AsyncIterable<Buffer>>;
}

/** One thing that was looked at. */
export interface Finding {
  level: "ok" | "warning" | "error";
  /** What is so. */
  message: string;
  /** How to mend it. */
  mend?: string | undefined;
}

export interface CheckContext {
  /** Everything that the configuration says, with defaults. */
  config: Readonly<Record<string, unknown>>;
  paths: Paths;
  env: Readonly<Record<string, string | undefined>>;
  /** The running gateway; undefined where none responds. */
  gateway: GatewayClient | undefined;
}

/** Looks at what a plugin cares for; a throw is an error that it found. Runs on the command line and may take seconds. */
export type HealthCheck = (context: CheckContext) => Promise<readonly Finding[]>;
