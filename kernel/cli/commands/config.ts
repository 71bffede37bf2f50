/** `portico config`: the configuration file, read and written without a running gateway. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { takesEffectAtNextStart } from "../../config/compose.ts";
import type { ConfigStore } from "../../config/config.ts";
import { readText, writeText } from "../../config/file.ts";
import { ConfigError, problemText } from "../../config/error.ts";
import { parse, plainValue, SyntaxFault } from "../../config/json5/parse.ts";
import { explainUnknown } from "../../config/evaluate.ts";
import { maskSecrets } from "../../config/secrets.ts";
import { formatKeyPath, type KeyPath, parseKeyPath, valueAt } from "../../text/key-path.ts";
import type { PathOptions } from "../../files/paths.ts";
import { readRunning } from "../client.ts";
import { homeOf, openHomeConfig } from "../home.ts";
import type { Command, CommandIO } from "../types.ts";

const command: Command = {
  name: "config",
  summary: "Read, write and check the configuration",
  description: "Works on the file itself; no gateway needs to run. One that runs applies a change at once.",
  commands: [
    {
      name: "get",
      summary: "Print one key, or everything, with defaults filled in",
      args: [{ name: "key", description: "A path such as gateway.port", optional: true }],
      options: { reveal: { type: "boolean", description: "Show secrets instead of ********" } },
      examples: ["portico config get", "portico config get gateway.auth.token --reveal"],
      run: get,
    },
    {
      name: "set",
      summary: "Write one key; without VALUE, remove it so that its default is in force",
      description: `VALUE is JSON5 (numbers, true, lists, objects), anything else is text. \${NAME} is kept as a reference to an environment variable, which must be set here or in <home>/.env. A value that would not load is refused, and the file stays as it was. Comments and order of the file stay as they are.`,
      args: [
        { name: "key", description: "A path such as channels.main.baseUrl" },
        { name: "value", optional: true },
      ],
      examples: ["portico config set gateway.port 8080", `portico config set gateway.auth.token '\${PORTICO_TOKEN}'`],
      run: set,
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
        io.print(JSON.stringify((await open(io)).schema(), null, 2));
      },
    },
  ],
};

export default command;

async function get(io: CommandIO): Promise<void> {
  const config = await open(io);
  const path = io.args["key"] === undefined ? [] : keyOf(io);
  const value = valueAt(config.current, path);
  if (value === undefined) refuseUnknown(config, path);
  const shown = io.options["reveal"] === true ? value : maskSecrets(value, config.composed, path);
  io.show(shown ?? null, (one) => (one === null ? "" : typeof one === "string" ? one : JSON.stringify(one, null, 2)));
}

async function set(io: CommandIO): Promise<void> {
  const config = await open(io);
  const path = keyOf(io);
  const key = formatKeyPath(path);
  const words = io.args["value"];
  if (words === undefined) {
    let removed = false;
    await underGateway(io, config.file, async () => (removed = await config.unset(path)));
    if (!removed) refuseUnknown(config, path);
    io.show({ key, removed }, () => (removed ? `Removed ${key}.` : `${key} was not set.`));
    return;
  }
  await underGateway(io, config.file, () => setWords(config, path, words));
  const hint = takesEffectAtNextStart(config.composed, path)
    ? " It takes effect at the next start of the gateway."
    : "";
  io.show({ key, value: maskSecrets(valueAt(config.raw, path), config.composed, path) }, () => `Set ${key}.${hint}`);
}

// `config set gateway.auth.token 12345` means the text "12345": where the value does not fit but the words do, they count.
async function setWords(config: ConfigStore, path: KeyPath, words: string): Promise<void> {
  const value = readValue(words);
  try {
    await config.set(path, value);
  } catch (error) {
    if (typeof value === "string" || typeof value === "object" || !(error instanceof ConfigError)) throw error;
    await config.set(path, words).catch(() => {
      throw error;
    });
  }
}

/**
 * A gateway that runs from this home has the change when the command ends, instead of a moment later. One that refuses
 * it has the file back as it was, unless there was something wrong with it before: one of two faults may be mended.
 */
async function underGateway(io: CommandIO, file: string, change: () => Promise<unknown>): Promise<void> {
  const before = readRunning(homeOf(io.options as PathOptions, io.env).paths.state) ? await readText(file) : undefined;
  const problemBefore = before === undefined ? undefined : await problemOf(io);
  await change();
  const problem = before === undefined ? undefined : await problemOf(io);
  if (!problem) return;
  if (problemBefore !== null)
    throw new Error(`It is written, but the running gateway goes on without it: ${problem.message}`);
  await writeText(file, before as string);
  await problemOf(io);
  throw new Error(`The running gateway refuses it, and the file is as it was: ${problem.message}`);
}

/** Lets the gateway read the file; undefined where it cannot be asked (its token has just been changed, say). */
async function problemOf(io: CommandIO): Promise<{ message: string } | null | undefined> {
  const refreshed = await io.gateway
    .request<{ problem: { message: string } | null }>("POST", "/kernel/config/refresh", undefined, {
      timeoutMs: 20_000,
    })
    .catch(() => undefined);
  return refreshed?.problem;
}

async function validate(io: CommandIO): Promise<void> {
  const given = io.args["file"];
  const file = given === undefined ? undefined : resolve(io.cwd, given);
  if (file !== undefined && !existsSync(file)) throw new Error(`There is no file ${given}.`);
  try {
    const config = await open(io, file);
    config.check();
    io.show({ valid: true, file: config.file }, () =>
      existsSync(config.file) ? `${config.file} is right.` : `${config.file} is not there; the defaults are in force.`,
    );
  } catch (error) {
    if (error instanceof ConfigError) {
      if (io.json) io.print(JSON.stringify({ valid: false, problems: error.problems }, null, 2));
      else for (const problem of error.problems) io.print(problemText(problem));
    }
    throw error;
  }
}

function keyOf(io: CommandIO): (string | number)[] {
  return parseKeyPath(io.args["key"] ?? "");
}

function refuseUnknown(config: ConfigStore, path: KeyPath): void {
  const unknown = explainUnknown(path, config.composed);
  if (unknown)
    throw new Error(`${problemText(unknown)}${unknown.nearest === undefined ? ". See portico config schema." : ""}`);
}

function readValue(words: string): unknown {
  try {
    return plainValue(parse(words));
  } catch (error) {
    if (error instanceof SyntaxFault) return words;
    throw error;
  }
}

function open(io: CommandIO, file?: string): Promise<ConfigStore> {
  return openHomeConfig(homeOf(io.options as PathOptions, io.env), io.env, file);
}
