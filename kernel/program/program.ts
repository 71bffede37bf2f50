/** `portico`: the home on disk and the gateway, handed to the plugin that is the command line. */
import { readPlugins } from "../host/extensions/plugins/candidate.ts";
import { rootsOf } from "../host/extensions/roots.ts";
import { type HomeOptions, resolvePaths } from "../files/paths.ts";
import { pluginWithWord } from "../home/command-index.ts";
import { type HomeOnDisk, type LoaderFor, openHome } from "./home.ts";
import type { StartedGateway, StartOptions } from "./start.ts";
import type { WorkersSetup } from "../home/workers.ts";
import { running } from "../host/owner.ts";
import type { ConfigSchemas, Paths } from "../contract/index.ts";

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
  /** The extension on whose behalf the current code runs: `plugin:clock`. */
  owner(): string | undefined;
}

export interface OutputStream {
  write(text: string): unknown;
  isTTY?: boolean;
}

/** Resolves with the exit code. */
export type CommandLine = (program: Program) => Promise<number>;

declare module "portico" {
  interface PluginDefinition<C extends ConfigSchemas> {
    /** Of the one plugin that is the command line. */
    commandLine?: () => Promise<{ default: CommandLine }>;
  }
}

interface ProgramOptions extends Omit<Program, "home" | "workers" | "start" | "owner"> {
  loaderFor: LoaderFor;
}

/** Resolves with the exit code. */
export async function runProgram({ loaderFor, ...given }: ProgramOptions): Promise<number> {
  const { env, version } = given;
  const commandLine = await findCommandLine(loaderFor, resolvePaths({}, env));
  return commandLine({
    ...given,
    home: (options) => openHome(options, env, loaderFor),
    workers: async (options) => (await import("../home/workers.ts")).workersOf(options, env),
    owner: () => running()?.owner,
    start: async (options) =>
      (await import("./start.ts")).startHere(options, { env, version, loaderFor }),
  });
}

/** Only the package's own: no other may see what is typed. */
async function findCommandLine(loaderFor: LoaderFor, paths: Paths): Promise<CommandLine> {
  const roots = rootsOf("plugins", paths, { trust: "bundled" });
  for (const only of [pluginWithWord("", paths.package), undefined])
    for (const { meta } of await readPlugins(roots, loaderFor(paths), only))
      if (meta?.commandLine) return (await meta.commandLine()).default;
  throw new Error("The command line is missing from this installation. Install Portico again.");
}
