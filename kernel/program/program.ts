/** The program `portico`: hands the home on disk and the gateway to the plugin that is the command line. */
import { readPlugins } from "../host/extensions/plugins/candidate.ts";
import { listTrustedRoots } from "../host/extensions/roots.ts";
import { type HomeOptions, resolvePaths } from "../files/paths.ts";
import { pluginWithWord } from "../home/command-index.ts";
import { type HomeOnDisk, type LoaderFor, openHome } from "./home.ts";
import type { StartedGateway, StartOptions } from "./start.ts";
import type { WorkersSetup } from "../home/workers.ts";
import { currentOwner } from "../host/owner.ts";
import type { ConfigSchemas, Paths } from "../contract/index.ts";

/** The process of a call `portico WORD …`. */
export interface Program {
  /** The words after `portico`. */
  readonly argv: readonly string[];
  readonly env: Record<string, string | undefined>;
  readonly cwd: string;
  readonly version: string;
  /** Aborted by SIGINT. */
  readonly signal: AbortSignal;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  home(options: HomeOptions): HomeOnDisk;
  /**
   * Returns the set-up of a gateway with several processes; undefined for one. Evaluates the configuration only if it
   * mentions workers.
   */
  workers(options: HomeOptions): Promise<WorkersSetup | undefined>;
  /** Starts a gateway in this process. */
  start(options: StartOptions): Promise<StartedGateway>;
  /** Returns the extension on whose behalf the current code runs, such as `plugin:clock`. */
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
    /** Only the plugin that is the command line has this member. */
    commandLine?: () => Promise<{ default: CommandLine }>;
  }
}

interface ProgramOptions extends Omit<Program, "home" | "workers" | "start" | "owner"> {
  loaderFor: LoaderFor;
}

/** Resolves with the exit code. */
export async function runProgram({ loaderFor, ...context }: ProgramOptions): Promise<number> {
  const { env, version } = context;
  const commandLine = await findCommandLine(loaderFor, resolvePaths({}, env));
  return commandLine({
    ...context,
    home: (options) => openHome(options, env, loaderFor),
    workers: async (options) => (await import("../home/workers.ts")).readWorkersSetup(options, env),
    owner: () => currentOwner()?.owner,
    start: async (options) =>
      (await import("./start.ts")).startHere(options, { env, version, loaderFor }),
  });
}

/** Searches the package's own plugins only, since no other may see the user's input. */
async function findCommandLine(loaderFor: LoaderFor, paths: Paths): Promise<CommandLine> {
  const roots = listTrustedRoots("plugins", paths, { trust: "bundled" });
  for (const only of [pluginWithWord("", paths.package), undefined])
    for (const { meta } of await readPlugins(roots, loaderFor(paths), only))
      if (meta?.commandLine) return (await meta.commandLine()).default;
  throw new Error("The command line is missing from this installation. Install Portico again.");
}
