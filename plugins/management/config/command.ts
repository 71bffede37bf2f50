/**
 * `portico config`: the configuration of a home, without a running gateway, or that of the gateway at `--url`. Its
 * commands are not derived from routes: each works on a backend (`backend.ts`), which is the file or the gateway's routes.
 */
import { existsSync } from "node:fs";
import { devNull } from "node:os";
import { basename, resolve } from "node:path";
import { type ConfigProblem, isPorticoError, problemText } from "portico";
import type { Command, CommandIO } from "portico/command-line";
import type { Change } from "./change.ts";
import { selectBackend } from "./backend.ts";
import { printable } from "./schema.ts";
import { pendingText, differenceLines, versionLines } from "./show.ts";
import { exportCommand, importCommand } from "./transfer.ts";

const dryRun = {
  "dry-run": { type: "boolean", description: "Show what would change without writing anything" },
} as const;
const key = { name: "key", description: "The path of the key, such as channels.main.baseUrl" };

const command: Command = {
  name: "config",
  summary: "Read, write and check the configuration",
  description:
    "The commands edit the file itself, so no gateway needs to be running; a running gateway applies each change at once. With --url, the commands use the gateway at that address.",
  commands: [
    {
      name: "get",
      summary: "Print one key, or the whole configuration, with defaults filled in",
      args: [
        {
          name: "key",
          description: "The path of the key, such as gateway.port (default: all keys)",
          optional: true,
        },
      ],
      options: { reveal: { type: "boolean", description: "Show secrets instead of ********" } },
      examples: ["portico config get", "portico config get gateway.auth.token --reveal"],
      run: get,
    },
    {
      name: "set",
      summary: "Set one key; without VALUE, remove the key so that its default applies",
      description: `VALUE is read as JSON5 (numbers, true, lists, objects); anything else is a string. \${NAME} is stored as a reference to an environment variable, which must be set here or in <home>/.env. The command refuses a value with which the configuration could not be loaded, and leaves the file unchanged. It preserves the comments and the order of the file. To change an entry of a map such as channels, pass the entry's own key, such as channels.main.`,
      args: [key, { name: "value", optional: true }],
      options: dryRun,
      examples: [
        "portico config set gateway.port 8080",
        `portico config set gateway.auth.token '\${PORTICO_TOKEN}'`,
        `portico config set channels.local '{provider: "ollama"}' --dry-run`,
      ],
      run: (io) => (io.args["value"] === undefined ? unset(io) : set(io, io.args["value"])),
    },
    {
      name: "unset",
      summary: "Remove one key so that its default applies",
      args: [key],
      options: dryRun,
      examples: ["portico config unset gateway.port"],
      run: unset,
    },
    {
      name: "validate",
      summary: "Check the configuration, or another FILE, as the gateway does when it starts",
      args: [{ name: "file", optional: true }],
      examples: ["portico config validate", "portico config validate ./new.json"],
      run: validate,
    },
    {
      name: "history",
      summary: "List the last 20 versions: who wrote each version, when, and from where",
      examples: ["portico config history", "portico config history --json"],
      async run(io) {
        io.show({ versions: await selectBackend(io).versions() }, ({ versions }) =>
          versionLines(io, versions),
        );
      },
    },
    {
      name: "diff",
      summary: "Show what the latest change did, or what differs between two versions",
      description:
        "FROM and TO are version numbers from `portico config history`. With FROM alone, that version is compared with the current one. Secrets are masked.",
      args: [
        { name: "from", optional: true },
        { name: "to", optional: true },
      ],
      examples: ["portico config diff", "portico config diff 3", "portico config diff 3 5"],
      async run(io) {
        const [from, to] = [readVersion(io, "from"), readVersion(io, "to")];
        io.show({ changes: await selectBackend(io).differences(from, to) }, ({ changes }) =>
          differenceLines(changes),
        );
      },
    },
    {
      name: "undo",
      summary: "Restore the version before the latest change, or another version",
      description:
        "An undo also creates a version, so nothing is lost. A second undo goes back one more version. portico config undo N restores any version that portico config history lists.",
      args: [{ name: "version", optional: true }],
      options: dryRun,
      examples: ["portico config undo", "portico config undo 3 --dry-run"],
      run: undo,
    },
    exportCommand,
    importCommand,
    {
      name: "schema",
      summary: "Print the JSON Schema of the configuration, including the sections of all plugins",
      examples: ["portico config schema > portico.schema.json"],
      async run(io) {
        // The schema comes from the plugins and does not read the file, so that it also helps to repair a broken one.
        io.print(JSON.stringify(printable((await io.home().config(devNull)).schema), null, 2));
      },
    },
  ],
};
export default command;

async function get(io: CommandIO): Promise<void> {
  const value = await selectBackend(io).get(io.args["key"], io.options["reveal"] === true);
  io.show(value, (masked) => {
    if (masked === null) return "";
    return typeof masked === "string" ? masked : JSON.stringify(masked, null, 2);
  });
}

async function set(io: CommandIO, words: string): Promise<void> {
  const key = io.args["key"] ?? "";
  const changed = await selectBackend(io).set(key, words, isDryRun(io));
  io.show({ key, ...changed }, () => report(io, changed, `Set ${key}.`));
}

async function unset(io: CommandIO): Promise<void> {
  const key = io.args["key"] ?? "";
  const changed = await selectBackend(io).unset(key, isDryRun(io));
  const removed = changed.changes.length > 0;
  io.show({ key, removed, ...changed }, () =>
    removed ? report(io, changed, `Removed ${key}.`) : `${key} was not set.`,
  );
}

async function undo(io: CommandIO): Promise<void> {
  const changed = await selectBackend(io).undo(readVersion(io, "version"), isDryRun(io));
  io.show(changed, () => [
    ...(isDryRun(io) ? [] : differenceLines(changed.changes)),
    ...report(io, changed, "Undone."),
  ]);
}

const isDryRun = (io: CommandIO): boolean => io.options["dry-run"] === true;

function report(io: CommandIO, changed: Change, done: string): string[] {
  if (!isDryRun(io)) return [done + pendingText(changed)];
  return [...differenceLines(changed.changes), `Nothing was written.${pendingText(changed)}`];
}

function readVersion(io: CommandIO, name: string): number | undefined {
  const version = io.args[name];
  if (version === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(version)) return Number(version);
  throw new Error(`"${version}" is not a version. Use a number that portico config history lists.`);
}

async function validate(io: CommandIO): Promise<void> {
  try {
    const { file, problems } = await findProblems(io);
    if (problems.length > 0) return printProblemsAndThrow(io, problems, file);
    io.show({ valid: true, file }, () =>
      isAbsentFile(file) ? `${file} does not exist; the defaults are active.` : `${file} is valid.`,
    );
  } catch (error) {
    const { problems, file } = (isPorticoError(error) && error.details) || {};
    if (!problems) throw error;
    printProblemsAndThrow(io, problems as ConfigProblem[], String(file));
  }
}

const isAbsentFile = (file: string): boolean => file.startsWith("/") && !existsSync(file);

async function findProblems(io: CommandIO): Promise<{ file: string; problems: ConfigProblem[] }> {
  const name = io.args["file"];
  if (name === undefined) return selectBackend(io).validate();
  const file = resolve(io.cwd, name);
  if (!existsSync(file)) throw new Error(`There is no file ${name}.`);
  const config = await io.home().config(file);
  return { file: config.file, problems: await config.problems() };
}

/** Prints a line for each problem, then throws. */
function printProblemsAndThrow(
  io: CommandIO,
  problems: readonly ConfigProblem[],
  file: string,
): never {
  if (io.json) io.print(JSON.stringify({ valid: false, problems }, null, 2));
  else for (const problem of problems) io.print(problemText(problem));
  throw new Error(`${basename(file)}: ${problems.map(problemText).join("; ")}`);
}
