/** Runs one subcommand: finds it among the plugins', prints help or its output, reports its failure. */
import type { CommandLine, HomeOnDisk, HomeOptions, PluginDefinition, Program } from "portico";
import type { GatewayClient } from "./client.ts";
import type { Command } from "./command.ts";
import { createClient } from "./client.ts";
import { helpFor, overview } from "./help.ts";
import { createIo, placeOf } from "./io.ts";
import { findCommand, firstWord, parseWords, UsageError, unknownWord } from "./parse.ts";
import { createTerminal, type Terminal } from "./terminal.ts";

type LazyCommand = () => Promise<{ default: Command }>;

/** Its own; all others are of further plugins. */
const start: LazyCommand = () => import("./start/command.ts");

/** Resolves with the exit code. */
const run: CommandLine = async (program) => {
  const terminal = createTerminal(program.stdout, program.stderr);
  try {
    const argv = helpAsOption(program.argv);
    const at = firstWord(argv);
    const first = argv[at];
    if (first === undefined || first === "--help" || first === "-h") {
      terminal.print(await overviewOf(program));
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
    terminal.complain(`portico: ${message.replace(/\s*\n\s*/g, " ")}`);
    return error instanceof UsageError ? 2 : 1;
  }
};
export default run;

/** `portico help hooks new` is `portico hooks new --help`. */
function helpAsOption(argv: readonly string[]): readonly string[] {
  const at = firstWord(argv);
  return argv[at] === "help" ? [...argv.toSpliced(at, 1), "--help"] : argv;
}

async function runCommand(
  top: Command,
  argv: readonly string[],
  program: Program,
  terminal: Terminal,
): Promise<number> {
  const { command, path, words, before } = findCommand(top, argv);
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
  const parsed = parseWords(command, fullPath, words, before);
  const { token } = parsed.options;
  // an unset variable of a script, which must not mean the user's own home
  for (const name of ["token", "home", "config", "workspace"])
    if (String(parsed.options[name] ?? name).trim() === "")
      throw new UsageError(`--${name} must not be empty.`);
  const { signal, env } = program;
  const gateway = lazyClient(async () => {
    const home = program.home(placeOf(parsed));
    return createClient({
      ...(await addressOf(home, { url: parsed.gatewayUrl, token }, env)),
      signal,
    });
  });
  await command.run(createIo({ program, parsed, gateway, terminal }));
  return 0;
}

/** `start` is its own; else the plugin that is known to have the word, or has its name; then any plugin. */
async function findTopCommand(word: string, program: Program): Promise<Command> {
  if (word === "start") return (await start()).default;
  const home = program.home(optionsIn(program.argv));
  const near = commandsOf(await home.definitions(word)).get(word);
  if (near) return (await near()).default;
  const all = commandsOf(await home.definitions());
  const far = all.get(word);
  if (far) return (await far()).default;
  throw unknownWord(word, ["start", ...all.keys()], ["portico"]);
}

async function overviewOf(program: Program): Promise<string> {
  const definitions = await program.home(optionsIn(program.argv)).definitions();
  const all = [start, ...commandsOf(definitions).values()].map(
    async (lazy) => (await lazy()).default,
  );
  const steps = definitions.flatMap(({ firstSteps }) => firstSteps ?? []);
  return overview(program.version, await Promise.all(all), steps);
}

function commandsOf(definitions: readonly PluginDefinition[]): Map<string, LazyCommand> {
  return new Map(definitions.flatMap(({ commands }) => Object.entries(commands ?? {})));
}

/** `--home` and `--config` wherever they stand: they decide which plugins there are. */
function optionsIn(argv: readonly string[]): HomeOptions {
  const environment: Record<string, string> = {};
  for (const name of ["home", "config", "workspace"]) {
    const at = argv.findIndex((word) => word === `--${name}` || word.startsWith(`--${name}=`));
    const word = argv[at];
    const value = word?.includes("=") ? word.slice(word.indexOf("=") + 1) : argv[at + 1];
    if (at >= 0 && value) environment[name] = value;
  }
  return environment;
}

/**
 * Finds the gateway that a command asks, and the token for it. `PORTICO_TOKEN` belongs to the gateway that `--url` or
 * `PORTICO_URL` names; the gateway of this home gets this home's token, which no other address receives.
 */
async function addressOf(home: HomeOnDisk, options: Record<string, unknown>, env: Program["env"]) {
  const running = home.running();
  const namedUrl = (options["url"] as string | undefined) ?? env["PORTICO_URL"];
  const namedToken = options["token"] as string | undefined;
  const token = namedToken ?? (namedUrl ? env["PORTICO_TOKEN"]?.trim() : undefined);
  const url = namedUrl ?? running?.url;
  const cert = url === running?.url ? running?.cert : undefined;
  if (url && token) return { url, token, cert };
  const { port, secret } = await home.access();
  const address = url ?? `http://127.0.0.1:${port}`;
  const isOwn = namedUrl === undefined || address === running?.url || isLoopback(address);
  return { url: address, token: token || (isOwn ? secret : undefined), cert };
}

/** The tokens of this machine's gateways do not leave it. */
function isLoopback(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  return host === "localhost" || host === "[::1]" || /^127(?:\.\d+){3}$/.test(host);
}

/** Most commands that fail do so before they need the gateway: its address is looked up at the first request. */
function lazyClient(make: () => Promise<GatewayClient>): GatewayClient {
  let made: Promise<GatewayClient> | undefined;
  const client = () => (made ??= make());
  return {
    request: async (...args) => (await client()).request(...args) as never,
    stream: async (...args) => (await client()).stream(...args),
  };
}
