/** The command line is a plugin's (`commandLine` of its definition): what it is handed, and what it starts. */
import type { Socket } from "node:net";
import type { HomeOnDisk } from "./commands.ts";
import type { Banner, ServiceName, Services } from "./services.ts";
import type { WorkerLink } from "./workers.ts";

/** The process that was called as `portico WORD …`. */
export interface Program {
  /** The words behind `portico`. */
  readonly argv: readonly string[];
  readonly env: Record<string, string | undefined>;
  readonly cwd: string;
  readonly version: string;
  /** Aborted by SIGINT. */
  readonly signal: AbortSignal;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  home(options: HomeOptions): HomeOnDisk;
  /** How many processes the home's gateway is to be; undefined for one. Evaluates the configuration where it speaks of them. */
  workers(options: HomeOptions): Promise<WorkersSetup | undefined>;
  /** Starts a gateway in this process. */
  start(options: StartOptions): Promise<StartedGateway>;
}

/** Resolves with the exit code. */
export type CommandLine = (program: Program) => Promise<number>;

export interface OutputStream {
  write(text: string): unknown;
  isTTY?: boolean;
}

/** The options of the command line that say where things lie. */
export interface HomeOptions {
  home?: string | undefined;
  workspace?: string | undefined;
  config?: string | undefined;
}

export interface WorkersSetup {
  count: number;
  host: string;
  port: number;
  /** How long a stop may take. */
  stopMs: number;
  /** Makes the home and, where there is none, its token: true then. Throws where the door would stand open. */
  prepare(): Promise<boolean>;
}

export interface StartOptions extends HomeOptions {
  /** Only these plugins run; the others are known and stay off. It is not the gateway that the home's commands find. */
  only?: readonly string[] | undefined;
  /** Replaces `gateway.port`; 0: any free one. */
  port?: number | undefined;
  /** Where it is one of several processes of a gateway. */
  link?: WorkerLink | undefined;
  /** Where log lines go beside the log file. */
  write(line: string): void;
}

export interface StartedGateway {
  readonly url: string;
  /** The owner's; undefined where only a password is set. */
  readonly token: string | undefined;
  /** It was made at this start. */
  readonly tokenIsNew: boolean;
  /** What plugins have to say at the start. */
  banners(): readonly Banner[];
  use<K extends ServiceName>(name: K): Services[K];
  /** Serves a connection that another process has accepted. */
  accept(socket: Socket): void;
  /** Looks for changed plugins and hooks. */
  rescan(): void;
  /** Logs what nobody has caught. True where it is an extension's: that one is told, and the gateway goes on. */
  strayError(kind: string, thrown: unknown): boolean;
  /** Resolves when running answers, turns and plugins have ended, at the latest after `gateway.shutdownTimeoutMs`. */
  stop(reason: string): Promise<void>;
}
