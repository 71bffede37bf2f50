/** `portico`: the home on disk and the gateway, handed to the plugin that is the command line. */
import { join } from "node:path";
import type { CommandLine, Program } from "./contract/program.ts";
import { discover } from "./extensions/discover.ts";
import type { Loader } from "./extensions/load/load.ts";
import { pluginEntryNames, readPlugins } from "./extensions/plugins/candidate.ts";
import { resolvePaths } from "./files/paths.ts";
import { pluginWithWord } from "./home/command-index.ts";
import { openHome } from "./home/home.ts";

export interface ProgramOptions extends Omit<Program, "home" | "workers" | "start"> {
  /** For the plugins that a command is looked for in. */
  loader: Loader;
}

/** Resolves with the exit code. */
export async function runProgram({ loader, ...given }: ProgramOptions): Promise<number> {
  const { env, version } = given;
  const commandLine = await findCommandLine(loader, resolvePaths({}, env).package);
  return commandLine({
    ...given,
    home: (options) => openHome(options, env, loader),
    workers: async (options) => (await import("./home/workers.ts")).workersOf(options, env),
    start: async (options) => (await import("./home/start.ts")).startHere(options, { env, version }),
  });
}

/** Only the package's own: no other may see what is typed. */
async function findCommandLine(loader: Loader, packageDir: string): Promise<CommandLine> {
  const roots = [{ name: "bundled", dir: join(packageDir, "plugins"), rank: 0 }];
  for (const only of [pluginWithWord("", packageDir), undefined])
    for (const { meta } of await readPlugins(discover(roots, pluginEntryNames, only), loader))
      if (meta?.commandLine) return (await meta.commandLine()).default;
  throw new Error("This installation has lost its command line: install Portico again.");
}
