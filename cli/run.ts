/** Runs one subcommand: finds it among the plugins', prints help or its output, reports its failure. */
import type { Loader } from "../kernel/extensions/load/load.ts";
import { type PathOptions, resolvePaths } from "../kernel/files/paths.ts";
import { createClient, readRunning } from "./client.ts";
import { helpFor, overview } from "./help.ts";
import { createIo } from "./io.ts";
import { findCommand, parseWords, UsageError, unknownWord } from "./parse.ts";
import { createTerminal, type OutputStream, type Terminal } from "./terminal.ts";
import type { Command, GatewayClient } from "../kernel/contract/commands.ts";

export interface CliOptions {
  argv: readonly string[];
  env: Record<string, string | undefined>;
  cwd: string;
  version: string;
  signal: AbortSignal;
  stdout: OutputStream;
  stderr: OutputStream;
  /** Made only when a plugin's command is looked for. */
  loader: () => Promise<Loader>;
}

type LazyCommand = () => Promise<{ default: Command }>;

/** The only one that is no plugin's. */
const start: LazyCommand = () => import("./start.ts");

/** Resolves with the exit code. */
export async function runCli(options: CliOptions): Promise<number> {
  const terminal = createTerminal(options.stdout, options.stderr);
  try {
    const first = options.argv[0];
    if (first === undefined || first === "help" || first === "--help" || first === "-h") {
      terminal.print(await overviewOf(options));
      return 0;
    }
    if (first === "--version" || first === "-v" || first === "version") {
      terminal.print(options.version);
      return 0;
    }
    return await runCommand(await findTopCommand(first, options), options, terminal);
  } catch (error) {
    if (options.signal.aborted) return 130;
    const message = error instanceof Error ? error.message : String(error);
    terminal.complain(`portico: ${message.replace(/\s*\n\s*/g, " ")}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

async function runCommand(top: Command, options: CliOptions, terminal: Terminal): Promise<number> {
  const { command, path, words } = findCommand(top, options.argv.slice(1));
  const fullPath = ["portico", ...path];
  const wantsHelp = words.includes("--help") || words.includes("-h");
  if (wantsHelp || !command.run) {
    terminal.print(helpFor(command, fullPath));
    return wantsHelp || words.length === 0 ? 0 : 2;
  }
  const parsed = parseWords(command, fullPath, words);
  const { token } = parsed.options;
  if (typeof token === "string" && token.trim() === "") throw new UsageError("--token must not be empty.");
  const { signal, cwd, env } = options;
  const gateway = lazyClient(async () => {
    // A command may have a --url of its own (a page to wait for): that is not the gateway's address.
    const url = command.options?.["url"] === undefined ? parsed.options["url"] : undefined;
    return createClient({ ...(await addressOf({ ...parsed.options, url }, env)), signal });
  });
  await command.run(createIo({ parsed, gateway, signal, cwd, env, terminal }));
  return 0;
}

/** `start` needs no plugin; else the plugin that is known to have the word, or has its name; then any plugin. */
async function findTopCommand(word: string, options: CliOptions): Promise<Command> {
  const near = word === "start" ? start : (await pluginCommands(options, word)).commands.get(word);
  if (near) return (await near()).default;
  const { commands } = await pluginCommands(options);
  const far = commands.get(word);
  if (far) return (await far()).default;
  throw unknownWord(word, ["start", ...commands.keys()], ["portico"]);
}

async function pluginCommands(options: CliOptions, word?: string) {
  const { definitionsOf, homeOf, pluginWithCommand } = await import("./home.ts");
  const home = homeOf(optionsIn(options.argv), options.env);
  const only = word === undefined ? undefined : (pluginWithCommand(word, home.paths.package) ?? word);
  const definitions = (await definitionsOf(home, await options.loader(), only)).map(({ meta }) => meta);
  const commands = new Map(definitions.flatMap((one): [string, LazyCommand][] => Object.entries(one?.commands ?? {})));
  return { commands, firstSteps: definitions.flatMap((one) => one?.firstSteps ?? []) };
}

async function overviewOf(options: CliOptions): Promise<string> {
  const { commands, firstSteps } = await pluginCommands(options);
  const all = [start, ...commands.values()].map(async (lazy) => (await lazy()).default);
  return overview(options.version, await Promise.all(all), firstSteps);
}

/** `--home` and `--config` wherever they stand: they decide which plugins there are. */
function optionsIn(argv: readonly string[]): PathOptions {
  const found: Record<string, string> = {};
  for (const name of ["home", "config", "workspace"]) {
    const at = argv.findIndex((word) => word === `--${name}` || word.startsWith(`--${name}=`));
    const word = argv[at];
    const value = word?.includes("=") ? word.slice(word.indexOf("=") + 1) : argv[at + 1];
    if (at >= 0 && value) found[name] = value;
  }
  return found;
}

async function addressOf(options: Record<string, unknown>, env: CliOptions["env"]) {
  const paths = resolvePaths(options as PathOptions, env);
  const running = readRunning(paths.state);
  const url = (options["url"] as string | undefined) ?? env["PORTICO_URL"] ?? running?.url;
  const cert = url === running?.url ? running?.cert : undefined;
  const token = (options["token"] as string | undefined) ?? env["PORTICO_TOKEN"]?.trim();
  if (url && token) return { url, token, cert };
  const { readConfigFile, withoutReferences } = await import("../kernel/config/read.ts");
  const { envFileIn, withVariables } = await import("../kernel/config/environment.ts");
  const { gateway } = readConfigFile(paths.config) as {
    gateway?: { port?: number | string; auth?: { token?: string; password?: string } };
  };
  const secret = token || (gateway?.auth?.token ?? gateway?.auth?.password);
  const all = withVariables(env, envFileIn(paths.home));
  return {
    url: url ?? `http://127.0.0.1:${withoutReferences(gateway?.port ?? 18789, all)}`,
    token: token || (withoutReferences(secret, all) as string | undefined),
    cert,
  };
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
