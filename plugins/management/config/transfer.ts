/** `portico config export` and `import`: the configuration on its way to another gateway. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import type { PortableConfig } from "portico";
import type { Command, CommandIO } from "portico/command-line";
import type { ConfigDoor } from "./change.ts";
import { doorOf } from "./door.ts";
import { afterwards, differenceLines } from "./show.ts";

export const exportCommand: Command = {
  name: "export",
  summary: "Export the configuration for another gateway, without secrets",
  description: `Prints the configuration, or writes it to FILE. \${NAME} references stay; each other secret becomes a reference to a variable that is named after its key, such as \${CHANNELS_MAIN_API_KEY}.`,
  args: [{ name: "file", optional: true }],
  examples: ["portico config export > shared.json", "portico config export shared.json"],
  async run(io) {
    const portable = await doorOf(io).export();
    const file = io.args["file"];
    if (file === undefined) return io.show(portable, textOf);
    if (existsSync(resolve(io.cwd, file)))
      throw new Error(`There is already a file ${file}. Remove it, or choose another name.`);
    await writeFile(resolve(io.cwd, file), `${textOf(portable)}\n`, { mode: 0o600 });
    io.show({ file, ...portable }, () => [`Wrote ${file}.`, ...secretLines(portable)]);
  },
};

export const importCommand: Command = {
  name: "import",
  summary: "Replace the configuration with an exported one; secrets stay",
  description:
    "Shows what would change and asks before it writes. Secrets and comments of the current file stay; a key or an entry that FILE does not have is removed. portico config undo restores the previous version.",
  args: [{ name: "file" }],
  options: {
    yes: { type: "boolean", description: "Write without asking for confirmation" },
    "dry-run": { type: "boolean", description: "Show what would change without writing anything" },
  },
  examples: [
    "portico config import shared.json",
    "portico config import shared.json --dry-run",
    "portico config import shared.json --yes",
  ],
  run: importFile,
};

async function importFile(io: CommandIO): Promise<void> {
  const name = io.args["file"] ?? "";
  const file = resolve(io.cwd, name);
  if (!existsSync(file)) throw new Error(`There is no file ${name}.`);
  const { written } = await io.home().config(file);
  const door = doorOf(io);
  const planned = await door.import(written, true);
  const isDryRun = io.options["dry-run"] === true;
  if (isDryRun || planned.changes.length === 0) {
    const end = `Nothing was written.${afterwards(planned)}`;
    return io.show(planned, () => [...differenceLines(planned.changes), end]);
  }
  if (io.options["yes"] !== true) await confirm(io, planned.changes);
  await write(io, door, written);
}

async function write(
  io: CommandIO,
  door: ConfigDoor,
  configuration: Readonly<Record<string, unknown>>,
): Promise<void> {
  const changed = await door.import(configuration, false);
  const isAsked = io.options["yes"] !== true;
  io.show(changed, () => [
    ...(isAsked ? [] : differenceLines(changed.changes)),
    `Imported.${afterwards(changed)}`,
  ]);
}

async function confirm(
  io: CommandIO,
  changes: Parameters<typeof differenceLines>[0],
): Promise<void> {
  if (io.json || process.stdin.isTTY !== true)
    throw new Error(
      "There is no terminal to ask for confirmation. Check with --dry-run, then write with --yes.",
    );
  for (const line of differenceLines(changes)) io.print(line);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question("Write these changes? [y/N] ", { signal: io.signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new Error("Nothing was written.");
  } finally {
    terminal.close();
  }
}

function textOf({ configuration }: PortableConfig): string {
  return JSON.stringify(configuration, null, 2);
}

function secretLines({ secrets }: PortableConfig): string[] {
  if (secrets.length === 0) return [];
  const names = secrets.map(({ variable }) => variable).join(", ");
  return [
    `Before you import it on a gateway that does not have these secrets, set these variables: ${names}.`,
  ];
}
