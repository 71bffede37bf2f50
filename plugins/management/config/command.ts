/** `portico config`: the configuration file, read and written without a running gateway. */
import { existsSync } from "node:fs";
import { devNull } from "node:os";
import { resolve } from "node:path";
import { type ConfigProblem, type Dispose, isPorticoError, problemText } from "portico";
import type { Command, CommandIO } from "portico/command-line";
import { printable } from "./schema.ts";

const command: Command = {
  name: "config",
  summary: "Read, write and check the configuration",
  description:
    "Works on the file itself; no gateway needs to run. One that runs applies a change at once.",
  commands: [
    {
      name: "get",
      summary: "Print one key, or everything, with defaults filled in",
      args: [{ name: "key", description: "A path such as gateway.port", optional: true }],
      options: { reveal: { type: "boolean", description: "Show secrets instead of ********" } },
      examples: ["portico config get", "portico config get gateway.auth.token --reveal"],
      async run(io) {
        const config = await io.home().config();
        const shown = config.get(io.args["key"], io.options["reveal"] === true) ?? null;
        io.show(shown, (one) =>
          one === null ? "" : typeof one === "string" ? one : JSON.stringify(one, null, 2),
        );
      },
    },
    {
      name: "set",
      summary: "Write one key; without VALUE, remove it so that its default is in force",
      description: `VALUE is JSON5 (numbers, true, lists, objects), anything else is text. \${NAME} is kept as a reference to an environment variable, which must be set here or in <home>/.env. A value that would not load is refused, and the file stays as it was. Comments and order of the file stay as they are.`,
      args: [
        { name: "key", description: "A path such as channels.main.baseUrl" },
        { name: "value", optional: true },
      ],
      examples: [
        "portico config set gateway.port 8080",
        `portico config set gateway.auth.token '\${PORTICO_TOKEN}'`,
      ],
      run: (io) => (io.args["value"] === undefined ? unset(io) : set(io, io.args["value"])),
    },
    {
      name: "unset",
      summary: "Remove one key, so that its default is in force",
      args: [{ name: "key", description: "A path such as channels.main.baseUrl" }],
      examples: ["portico config unset gateway.port"],
      run: unset,
    },
    {
      name: "validate",
      summary: "Check the configuration, or another FILE",
      args: [{ name: "file", optional: true }],
      examples: ["portico config validate", "portico config validate ./new.json"],
      run: validate,
    },
    {
      name: "schema",
      summary: "Print the JSON Schema of the configuration, all plugins' sections included",
      examples: ["portico config schema > portico.schema.json"],
      async run(io) {
        // The plugins make it, whatever the file holds: a broken one is mended with its help.
        io.print(JSON.stringify(printable((await io.home().config(devNull)).schema), null, 2));
      },
    },
  ],
};
export default command;

async function set(io: CommandIO, words: string): Promise<void> {
  const key = io.args["key"] ?? "";
  const config = await io.home().config();
  const { written, atNextStart, unconfirmed } = await underGateway(io, () =>
    config.set(key, words),
  );
  const hint = atNextStart ? " It takes effect at the next start of the gateway." : "";
  io.show({ key, value: written, unconfirmed }, () => `Set ${key}.${hint}${doubt(unconfirmed)}`);
}

async function unset(io: CommandIO): Promise<void> {
  const key = io.args["key"] ?? "";
  const config = await io.home().config();
  const { undo, unconfirmed } = await underGateway(io, async () => ({
    undo: await config.unset(key),
  }));
  const removed = undo !== undefined;
  io.show({ key, removed, unconfirmed }, () =>
    removed ? `Removed ${key}.${doubt(unconfirmed)}` : `${key} was not set.`,
  );
}

interface Unconfirmed {
  /** Why it is not known whether the running gateway has the change. */
  unconfirmed?: string;
}

function doubt(unconfirmed: string | undefined): string {
  if (unconfirmed === undefined) return "";
  return ` The running gateway did not confirm that it has it: ${unconfirmed} See portico doctor.`;
}

/**
 * A gateway that runs from this home has the change when the command ends, instead of a moment later. One that refuses
 * it has the file back as it was, unless there was something wrong with it before: one of two faults may be mended.
 */
async function underGateway<T extends { undo: Dispose | undefined }>(
  io: CommandIO,
  change: () => Promise<T>,
): Promise<T & Unconfirmed> {
  if (!io.home().running()) return change();
  const before = await refresh(io);
  const changed = await change();
  const after = await refresh(io);
  if ("failure" in after) {
    // its token may just have been changed, or it may be told to stop
    const { status, message } = after.failure;
    const isTaken = !("failure" in before) && status === 401;
    if (isTaken || !io.home().running()) return changed;
    return { ...changed, unconfirmed: status === undefined ? "it does not answer." : message };
  }
  if (!after.problem) return changed;
  if ("failure" in before || before.problem)
    throw new Error(
      `It is written, but the running gateway goes on without it: ${after.problem.message}`,
    );
  await changed.undo?.();
  await refresh(io);
  throw new Error(
    `The running gateway refuses it, and the file is as it was: ${after.problem.message}`,
  );
}

type Refreshed = { problem: { message: string } | null } | { failure: Error & { status?: number } };

/** Lets the gateway read the file. */
function refresh(io: CommandIO): Promise<Refreshed> {
  const options = { timeoutMs: 20_000 };
  return io.gateway
    .request<{ problem: { message: string } | null }>(
      "POST",
      "/kernel/config/refresh",
      undefined,
      options,
    )
    .catch((failure) => ({ failure }));
}

async function validate(io: CommandIO): Promise<void> {
  const given = io.args["file"];
  const file = given === undefined ? undefined : resolve(io.cwd, given);
  if (file !== undefined && !existsSync(file)) throw new Error(`There is no file ${given}.`);
  try {
    const config = await io.home().config(file);
    config.check();
    io.show({ valid: true, file: config.file }, () =>
      existsSync(config.file)
        ? `${config.file} is right.`
        : `${config.file} is not there; the defaults are in force.`,
    );
  } catch (error) {
    const problems =
      isPorticoError(error) && (error.details?.["problems"] as ConfigProblem[] | undefined);
    if (problems && io.json) io.print(JSON.stringify({ valid: false, problems }, null, 2));
    else if (problems) for (const problem of problems) io.print(problemText(problem));
    throw error;
  }
}
