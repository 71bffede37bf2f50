/** `portico config export` and `import`, which transfer the configuration to another gateway. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import type { PortableConfig } from "portico";
import type { Command, CommandIO } from "portico/command-line";
import type { ConfigBackend } from "./change.ts";
import { selectBackend } from "./backend.ts";
import { pendingText, differenceLines } from "./show.ts";

export const exportCommand: Command = {
  name: "export",
  summary: "Export the configuration for another gateway, without secrets",
  description: `Prints the configuration, or writes it to FILE. \${NAME} references are unchanged; every other secret is replaced by a reference to a variable that is named after the secret's key, such as \${CHANNELS_MAIN_API_KEY}.`,
  args: [{ name: "file", optional: true }],
  examples: ["portico config export > shared.json", "portico config export shared.json"],
  async run(io) {
    const portable = await selectBackend(io).export();
    const file = io.args["file"];
    if (file === undefined) return io.show(portable, formatConfig);
    if (existsSync(resolve(io.cwd, file)))
      throw new Error(`There is already a file ${file}. Remove it, or choose another name.`);
    await writeFile(resolve(io.cwd, file), `${formatConfig(portable)}\n`, { mode: 0o600 });
    io.show({ file, ...portable }, () => [`Wrote ${file}.`, ...formatSecrets(portable)]);
  },
};

export const importCommand: Command = {
  name: "import",
  summary: "Replace the configuration with an exported one, keeping this gateway's secrets",
  description:
    "Shows what would change and asks for confirmation before it writes. Secrets and comments of the current file are preserved; a key or an entry that FILE does not have is removed. portico config undo restores the previous version.",
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
  const backend = selectBackend(io);
  const preview = await backend.import(written, true);
  const isDryRun = io.options["dry-run"] === true;
  if (isDryRun || preview.changes.length === 0) {
    const closingLine = `Nothing was written.${pendingText(preview)}`;
    return io.show(preview, () => [...differenceLines(preview.changes), closingLine]);
  }
  if (io.options["yes"] !== true) await confirm(io, preview.changes);
  await write(io, backend, written);
}

async function write(
  io: CommandIO,
  backend: ConfigBackend,
  configuration: Readonly<Record<string, unknown>>,
): Promise<void> {
  const changed = await backend.import(configuration, false);
  const isConfirmed = io.options["yes"] !== true;
  io.show(changed, () => [
    ...(isConfirmed ? [] : differenceLines(changed.changes)),
    `Imported.${pendingText(changed)}`,
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

function formatConfig({ configuration }: PortableConfig): string {
  return JSON.stringify(configuration, null, 2);
}

function formatSecrets({ secrets }: PortableConfig): string[] {
  if (secrets.length === 0) return [];
  const names = secrets.map(({ variable }) => variable).join(", ");
  return [
    `Before you import it on a gateway that does not have these secrets, set these variables: ${names}.`,
  ];
}
