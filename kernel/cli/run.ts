/** Runs one subcommand: finds it among the kernel's and the plugins', prints help or its output, reports its failure. */
import type { Loader } from "../extensions/load.ts";
import { type PathOptions, resolvePaths } from "../files/paths.ts";
import type { Paths } from "../types.ts";
import { createClient, readRunning } from "./client.ts";
import { columns, helpFor } from "./help.ts";
import { createIo } from "./io.ts";
import { commonOptions, findCommand, parseWords, UsageError, unknownWord } from "./parse.ts";
import type { Command } from "./types.ts";

export interface CliOptions {
  argv: readonly string[];
  env: Record<string, string | undefined>;
  cwd: string;
  version: string;
  signal: AbortSignal;
  stdout: { write(text: string): unknown; isTTY?: boolean };
  stderr: { write(text: string): unknown; isTTY?: boolean };
  /** Made only when a plugin's command is looked for. */
  loader: () => Promise<Loader>;
  packageDir: string;
}

type LazyCommand = () => Promise<{ default: Command }>;

/** In the order of the help. */
const kernelCommands: Record<string, LazyCommand> = {
  start: () => import("./start.ts"),
  status: () => import("./status.ts"),
  config: () => import("./config.ts"),
  hooks: () => import("./hooks.ts"),
  plugins: () => import("./plugins.ts"),
  logs: () => import("./logs.ts"),
};

/** Answers the exit code. */
export async function runCli(options: CliOptions): Promise<number> {
  const { argv, stdout, stderr } = options;
  try {
    const first = argv[0];
    if (first === undefined || first === "help" || first === "--help" || first === "-h") {
      stdout.write(`${await overview(options)}\n`);
      return 0;
    }
    if (first === "--version" || first === "-v" || first === "version") {
      stdout.write(`${options.version}\n`);
      return 0;
    }
    return await runCommand(await findTopCommand(first, options), options);
  } catch (error) {
    if (options.signal.aborted) return 130;
    stderr.write(`portico: ${oneLine(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

async function runCommand(top: Command, options: CliOptions): Promise<number> {
  const { command, path, words } = findCommand(top, options.argv.slice(1));
  const fullPath = ["portico", ...path];
  const wantsHelp = words.includes("--help") || words.includes("-h");
  if (wantsHelp || !command.run) {
    options.stdout.write(`${helpFor(command, fullPath)}\n`);
    return wantsHelp || words.length === 0 ? 0 : 2;
  }
  const parsed = parseWords(command, fullPath, words);
  const paths = () => resolvePaths(parsed.options as PathOptions, options.env);
  const io = createIo({
    parsed,
    gateway: lazyClient(async () => {
      // A command may have a --url of its own (a page to wait for): that is not the gateway's address.
      const url = command.options?.["url"] === undefined ? parsed.options["url"] : undefined;
      const address = await addressOf({ ...parsed.options, url }, options.env, paths());
      return createClient({ ...address, signal: options.signal });
    }),
    signal: options.signal,
    cwd: options.cwd,
    env: options.env,
    stdout: options.stdout,
    stderr: options.stderr,
  });
  await command.run(io);
  return 0;
}

/** The kernel's own words first; then the plugin whose directory has the word's name; then any plugin. */
async function findTopCommand(word: string, options: CliOptions): Promise<Command> {
  const lazy = kernelCommands[word] ?? (await pluginCommands(options, word))[word];
  if (lazy) return (await lazy()).default;
  const known = [...Object.keys(kernelCommands), ...Object.keys(await pluginCommands(options))];
  throw unknownWord(word, known, ["portico"]);
}

async function pluginCommands(options: CliOptions, only?: string): Promise<Record<string, LazyCommand>> {
  const { discover } = await import("../extensions/discover.ts");
  const { loadDefinitions, pluginEntryNames, pluginRoots } = await import("../plugins/definitions.ts");
  const { readConfigFile } = await import("../config/read.ts");
  const { withWorkspace } = await import("../files/workspace.ts");
  const given = resolvePaths(optionsIn(options.argv), options.env);
  const raw = readConfigFile(given.config) as { plugins?: { trust?: string } };
  const roots = pluginRoots(withWorkspace(given, raw, options.env), raw.plugins?.trust ?? "home");
  const loader = await options.loader();
  if (only) {
    const namesakes = discover(roots, pluginEntryNames).filter((found) => found.name === only);
    const commands = collect(await loadDefinitions(namesakes, loader));
    if (commands[only]) return commands;
  }
  return collect(await loadDefinitions(discover(roots, pluginEntryNames), loader));
}

function collect(loaded: Awaited<ReturnType<typeof import("../plugins/definitions.ts").loadDefinitions>>) {
  const commands: Record<string, LazyCommand> = {};
  for (const { definition } of loaded) Object.assign(commands, definition?.commands);
  return commands;
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

async function addressOf(given: Record<string, unknown>, env: CliOptions["env"], paths: Paths) {
  const url = (given["url"] as string | undefined) ?? env["PORTICO_URL"] ?? readRunning(paths.state)?.url;
  const token = (given["token"] as string | undefined) ?? env["PORTICO_TOKEN"];
  if (url && token) return { url, token };
  const { readConfigFile, withoutReferences } = await import("../config/read.ts");
  const { gateway } = readConfigFile(paths.config) as {
    gateway?: { port?: number | string; auth?: { token?: string; password?: string } };
  };
  const secret = gateway?.auth?.token ?? gateway?.auth?.password;
  return {
    url: url ?? `http://127.0.0.1:${withoutReferences(gateway?.port ?? 18789, env)}`,
    token: token ?? (secret === undefined ? undefined : (withoutReferences(secret, env) as string)),
  };
}

/** Most commands that fail do so before they need the gateway: its address is looked up at the first request. */
function lazyClient(make: () => Promise<ReturnType<typeof createClient>>): ReturnType<typeof createClient> {
  let made: ReturnType<typeof make> | undefined;
  const client = () => (made ??= make());
  return {
    request: async (...args) => (await client()).request(...args) as never,
    stream: async (...args) => (await client()).stream(...args),
  };
}

async function overview(options: CliOptions): Promise<string> {
  const commands = { ...kernelCommands, ...(await pluginCommands(options)) };
  const rows = await Promise.all(
    Object.entries(commands).map(async ([name, lazy]): Promise<[string, string]> => {
      return [name, (await lazy()).default.summary];
    }),
  );
  return [
    `Portico ${options.version}: a gateway in front of your AI models and your agent.`,
    "",
    "Usage: portico COMMAND [options]",
    "",
    "Commands:",
    ...columns(rows),
    "",
    "Common options:",
    ...columns(
      Object.entries(commonOptions).map(([name, spec]) => [
        `--${name}${spec.value ? ` ${spec.value}` : ""}`,
        spec.description,
      ]),
    ),
    "",
    "First steps:",
    "  portico start                                       # run the gateway; prints its address and token",
    "  portico hooks new hello --event message:received    # a hook that sees every message, live at once",
    "  portico status                                      # what runs, and what is wrong",
  ].join("\n");
}

function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/\s*\n\s*/g, " ");
}
