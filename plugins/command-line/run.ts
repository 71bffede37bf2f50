/** Runs a command: finds it among the commands of plugins, prints its help or output, and reports failures. */
import type { CommandLine, HomeOnDisk, HomeOptions, PluginDefinition, Program } from "portico";
import type { GatewayClient } from "./client.ts";
import type { Command } from "./command.ts";
import { createClient } from "./client.ts";
import { helpFor, helpOverview } from "./help.ts";
import { createIo, homeOptions } from "./io.ts";
import {
  findCommand,
  indexOfFirstWord,
  parseWords,
  UsageError,
  unknownCommandError,
} from "./parse.ts";
import { createTerminal, type Terminal } from "./terminal.ts";

type LazyCommand = () => Promise<{ default: Command }>;

/** The only command of this plugin. All others belong to other plugins. */
const startCommand: LazyCommand = () => import("./start/command.ts");

/** Runs the command line. Resolves with the exit code. */
const run: CommandLine = async (program) => {
  const terminal = createTerminal(program.stdout, program.stderr);
  try {
    const argv = helpAsOption(program.argv);
    const at = indexOfFirstWord(argv);
    const first = argv[at];
    if (first === undefined || first === "--help" || first === "-h") {
      terminal.print(await createOverview(program));
      return 0;
    }
    if (first === "--version" || first === "-v" || first === "version") {
      terminal.print(program.version);
      return 0;
    }
    const words = argv.toSpliced(at, 1);
    return await runCommand(await findTopCommand(first, program), words, program, terminal);
  } catch (error) {
    if (program.signal.aborted) return 130;
    const message = error instanceof Error ? error.message : String(error);
    terminal.printError(`portico: ${message.replace(/\s*\n\s*/g, " ")}`);
    return error instanceof UsageError ? 2 : 1;
  }
};
export default run;

/** Rewrites `portico help hooks new` as `portico hooks new --help`. */
function helpAsOption(argv: readonly string[]): readonly string[] {
  const at = indexOfFirstWord(argv);
  return argv[at] === "help" ? [...argv.toSpliced(at, 1), "--help"] : argv;
}

async function runCommand(
  top: Command,
  argv: readonly string[],
  program: Program,
  terminal: Terminal,
): Promise<number> {
  const { command, path, words, wordsBefore } = findCommand(top, argv);
  const fullPath = ["portico", ...path];
  const wantsHelp = words.includes("--help") || words.includes("-h");
  if (wantsHelp || (!command.run && words.length === 0)) {
    terminal.print(helpFor(command, fullPath));
    return 0;
  }
  if (!command.run) {
    const place = fullPath.join(" ");
    throw new UsageError(`${place} needs a command: see ${place} --help.`);
  }
  const parsed = parseWords(command, fullPath, words, wordsBefore);
  const { token } = parsed.options;
  // an empty value comes from an unset variable in a script, and must not select the user's own home
  for (const name of ["token", "home", "config", "workspace"])
    if (String(parsed.options[name] ?? name).trim() === "")
      throw new UsageError(`--${name} must not be empty.`);
  const { signal, env } = program;
  const gateway = lazyClient(async () => {
    const home = program.home(homeOptions(parsed));
    return createClient({
      ...(await resolveGateway(home, { url: parsed.gatewayUrl, token }, env)),
      signal,
    });
  });
  await command.run(createIo({ program, parsed, gateway, terminal }));
  return 0;
}

/** Finds a command by name. Loads the plugin that has the command or its name first, and all plugins only if that fails. */
async function findTopCommand(word: string, program: Program): Promise<Command> {
  if (word === "start") return (await startCommand()).default;
  const home = program.home(readHomeOptions(program.argv));
  const likelyCommand = commandsOf(await home.definitions(word)).get(word);
  if (likelyCommand) return (await likelyCommand()).default;
  const all = commandsOf(await home.definitions());
  const command = all.get(word);
  if (command) return (await command()).default;
  throw unknownCommandError(word, ["start", ...all.keys()], ["portico"]);
}

async function createOverview(program: Program): Promise<string> {
  const definitions = await program.home(readHomeOptions(program.argv)).definitions();
  const all = [startCommand, ...commandsOf(definitions).values()].map(
    async (lazy) => (await lazy()).default,
  );
  const steps = definitions.flatMap(({ firstSteps }) => firstSteps ?? []);
  return helpOverview(program.version, await Promise.all(all), steps);
}

function commandsOf(definitions: readonly PluginDefinition[]): Map<string, LazyCommand> {
  return new Map(definitions.flatMap(({ commands }) => Object.entries(commands ?? {})));
}

/** Reads `--home`, `--config` and `--workspace` at any position, since they decide which plugins exist. */
function readHomeOptions(argv: readonly string[]): HomeOptions {
  const homeOptions: Record<string, string> = {};
  for (const name of ["home", "config", "workspace"]) {
    const at = argv.findIndex((word) => word === `--${name}` || word.startsWith(`--${name}=`));
    const word = argv[at];
    const value = word?.includes("=") ? word.slice(word.indexOf("=") + 1) : argv[at + 1];
    if (at >= 0 && value) homeOptions[name] = value;
  }
  return homeOptions;
}

/**
 * Finds the gateway for a command, and its token. `PORTICO_TOKEN` is for the gateway that `--url` or `PORTICO_URL` names.
 * The token in this home's configuration is sent only to its running gateway and to loopback addresses.
 */
async function resolveGateway(
  home: HomeOnDisk,
  options: Record<string, unknown>,
  env: Program["env"],
) {
  const running = home.running();
  const namedUrl = (options["url"] as string | undefined) ?? env["PORTICO_URL"];
  const namedToken = options["token"] as string | undefined;
  const token = namedToken ?? (namedUrl ? env["PORTICO_TOKEN"]?.trim() : undefined);
  const url = namedUrl ?? running?.url;
  const cert = url === running?.url ? running?.cert : undefined;
  if (url && token) return { url, token, cert };
  const { port, secret } = await home.access();
  const address = url ?? `http://127.0.0.1:${port}`;
  const mayReceiveToken = namedUrl === undefined || address === running?.url || isLoopback(address);
  return { url: address, token: token || (mayReceiveToken ? secret : undefined), cert };
}

/** True if requests to the URL stay on this machine, so that tokens do not leave it. */
function isLoopback(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  return host === "localhost" || host === "[::1]" || /^127(?:\.\d+){3}$/.test(host);
}

/** Creates the client at the first request, because most failing commands fail before they need the gateway. */
function lazyClient(create: () => Promise<GatewayClient>): GatewayClient {
  let clientPromise: Promise<GatewayClient> | undefined;
  const client = () => (clientPromise ??= create());
  return {
    request: async (...args) => (await client()).request(...args) as never,
    stream: async (...args) => (await client()).stream(...args),
  };
}
