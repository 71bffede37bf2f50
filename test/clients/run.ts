/**
 * `npm run clients`: gives real client programs a task with two calls of tools, over upstreams of several formats, and prints
 * a table. It installs pinned versions into a cache folder (`PORTICO_CLIENTS_CACHE`), so it needs a registry of packages; that
 * is why it is no part of `npm test`. Words behind it choose programs: `npm run clients -- codex`.
 */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startGateway } from "../support/gateway.ts";
import { anthropic } from "../support/upstreams/anthropic.ts";
import type { Dialect, Script, View } from "../support/upstreams/dialect.ts";
import { gemini } from "../support/upstreams/gemini.ts";
import { openai } from "../support/upstreams/openai.ts";
import { responses } from "../support/upstreams/responses.ts";
import { type FakeProvider, startProvider } from "../support/upstreams/server.ts";
import { claudeCode } from "./programs/claude-code.ts";
import { codex, codexWithCode } from "./programs/codex.ts";
import { type Recorder, startRecorder } from "./recorder.ts";
import type { ClientProgram, Place } from "./programs/program.ts";

const programs: readonly ClientProgram[] = [claudeCode, codex, codexWithCode];
const dialects: readonly Dialect[] = [openai, responses, anthropic, gemini];
const cacheRoot =
  process.env["PORTICO_CLIENTS_CACHE"] ?? join(homedir(), ".cache", "portico-clients");
/** The programs' requests become `recordings/*.json`. */
const RECORD = process.env["PORTICO_CLIENTS_RECORD"] === "1";
const TASK_MS = 120_000;
const GREETING = "greeting-of-portico";
const COMMANDS = [`echo ${GREETING} > greeting.txt`, "cat greeting.txt"];
const END = "The file holds the greeting.";

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const chosen = programs.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word)),
);
const rows: string[][] = [["client", ...dialects.map(({ name }) => name)]];
for (const program of chosen) {
  const cache = await install(program);
  const results: string[] = [];
  for (const dialect of dialects)
    results.push(
      dialect === responses && !program.speaksResponses
        ? "–"
        : await tryProgram(program, dialect, cache),
    );
  rows.push([`${program.name} (${program.packages.join(", ")})`, ...results]);
}
console.log(table(rows));
process.exit(
  rows
    .slice(1)
    .flat()
    .some((cell) => cell.startsWith("fails"))
    ? 1
    : 0,
);

async function install({ name, packages }: ClientProgram): Promise<string> {
  const cache = join(cacheRoot, packages.join("_").replace(/[^a-z0-9.@-]/gi, "-"));
  if (existsSync(join(cache, "installed"))) return cache;
  console.error(`installing ${name}`);
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "package.json"), '{"private":true}');
  await promisify(execFile)("npm", ["install", "--no-audit", "--no-fund", ...packages], {
    cwd: cache,
  });
  writeFileSync(join(cache, "installed"), "");
  return cache;
}

/** What stands in the table. */
async function tryProgram(
  program: ClientProgram,
  dialect: Dialect,
  cache: string,
): Promise<string> {
  console.error(`${program.name} over ${dialect.name}`);
  const up = await startProvider(dialect);
  const gateway = await startGateway({
    config: {
      channels: { up: { ...dialect.channel(up.root), maxRetries: 0 } },
      models: program.model === undefined ? {} : { [program.model]: `up/${dialect.model}` },
    },
  });
  const work = mkdtempSync(join(tmpdir(), "portico-client-"));
  const recorder = await startRecorder(gateway.url);
  const place: Place = {
    ...{
      url: recorder.url,
      token: gateway.token,
      cache,
      model: program.model ?? `up/${dialect.model}`,
    },
    ...{ dir: join(work, "dir"), home: join(work, "home") },
  };
  for (const dir of [place.dir, place.home]) mkdirSync(dir);
  try {
    actAsModel(up, (view) => nextStep(program, view, place));
    const output = await runTask(program, place);
    const result = judge(output, place, up);
    if (RECORD && dialect === anthropic && result === "works") record(program, recorder, work);
    return result;
  } finally {
    recorder.close();
    await gateway.stop();
    await up.close();
    rmSync(work, { recursive: true, force: true });
  }
}

/** The requests over one upstream. Those over others differ in ids, and in what the program knows of the model. */
function record({ name }: ClientProgram, { requests }: Recorder, work: string): void {
  const dir = join(import.meta.dirname, "recordings");
  mkdirSync(dir, { recursive: true });
  const file = join(dir, `${name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.json`);
  const text = JSON.stringify(requests, null, 1).replaceAll(work, "/work");
  writeFileSync(file, `${text}\n`);
}

/** The upstream says what `next` makes of each request. */
function actAsModel(up: FakeProvider, next: (view: View) => Script): void {
  Object.defineProperty(up, "next", { get: () => ({ answer: next(up.views.at(-1)!) }) });
}

/** One command after another, then the end. Requests without tools (for a title) get a text. */
function nextStep(program: ClientProgram, view: View, place: Place): Script {
  const done = view.turns.flatMap(({ results }) => results).length;
  const command = COMMANDS[done];
  const call = command === undefined ? undefined : program.callFor(command, view, place);
  return call === undefined ? { text: [END] } : { calls: [{ id: `call_${done}`, ...call }] };
}

function runTask(program: ClientProgram, place: Place): Promise<string> {
  const { command, args, env } = program.start(place);
  const child = spawn(command, args, {
    cwd: place.dir,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: TASK_MS,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes: Buffer) => (output += bytes.toString("utf8")));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(output));
  });
}

function judge(output: string, { dir }: Place, up: FakeProvider): string {
  const file = join(dir, "greeting.txt");
  const results = (up.views.at(-1)?.turns ?? []).flatMap((turn) => turn.results);
  const isWritten = existsSync(file) && readFileSync(file, "utf8").includes(GREETING);
  const isRead = JSON.stringify(results.at(-1) ?? "").includes(GREETING);
  if (isWritten && isRead && output.includes(END)) return "works";
  console.error(output.slice(-2000));
  if (up.seen.length > up.views.length) console.error("The upstream refused a request.");
  if (!isWritten) return "fails: the first call";
  return isRead ? "fails: the end" : "fails: the second call";
}

function table(lines: string[][]): string {
  const written = lines.map((cells) => `| ${cells.join(" | ")} |`);
  const rule = `|${lines[0]!.map(() => " --- ").join("|")}|`;
  return [written[0], rule, ...written.slice(1)].join("\n");
}
