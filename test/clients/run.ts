/**
 * `npm run clients` runs real client programs with a task over upstreams of several formats, and writes the table in
 * `plugins/docs/guides/clients.md`. It installs pinned versions into a cache folder (`PORTICO_CLIENTS_CACHE`). It is not a
 * part of `npm test`, because it needs package registries. Words select programs: `npm run clients -- codex`. With
 * `PORTICO_CLIENTS_RECORD=1`, the programs' requests become `recordings/*.json`.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { startGateway } from "../support/gateway.ts";
import type { Dialect } from "../support/upstreams/dialect.ts";
import { gemini } from "../support/upstreams/gemini.ts";
import { responses } from "../support/upstreams/responses.ts";
import { type FakeProvider, startProvider } from "../support/upstreams/server.ts";
import { cacheOf, install, missingReason } from "./install.ts";
import { isIsolated, runIsolated } from "./isolate.ts";
import { programs } from "./programs/index.ts";
import { type ClientProgram, labelOf, type Place } from "./programs/program.ts";
import { actAsModel } from "./model.ts";
import { startRecorder, writeRecording } from "./recorder.ts";
import { type Row, writeTable } from "./table.ts";
import { strictAnthropic } from "./upstreams/strict-anthropic.ts";
import { strictOpenai } from "./upstreams/strict-openai.ts";

const dialects: readonly Dialect[] = [strictOpenai, responses, strictAnthropic, gemini];
const RECORD = process.env["PORTICO_CLIENTS_RECORD"] === "1";
/** If true, prints the output of successful programs, too. */
const VERBOSE = process.env["PORTICO_CLIENTS_VERBOSE"] === "1";
const TASK_MS = 180_000;

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const selectedPrograms = programs.filter(
  (program) =>
    words.length === 0 || words.some((word) => labelOf(program).toLowerCase().includes(word)),
);
process.exit(await main());

async function main(): Promise<number> {
  if (isIsolated()) return runAll();
  for (const program of selectedPrograms) await install(program);
  const status = runIsolated();
  if (status !== undefined) return status;
  console.error("The machine has no network namespaces: the programs reach the network.");
  return runAll();
}

async function runAll(): Promise<number> {
  const rows: Row[] = [];
  for (const program of selectedPrograms) rows.push({ program, cells: await runOverEach(program) });
  const columns = dialects.map(({ name }) => name);
  writeTable(columns, rows, programs);
  return rows.some(({ cells }) => Object.values(cells).some((cell) => cell !== "works")) ? 1 : 0;
}

async function runOverEach(program: ClientProgram): Promise<Record<string, string>> {
  const cells: Record<string, string> = {};
  const missing = missingReason(program);
  for (const dialect of dialects) {
    // An upstream of the Responses API receives only requests of its own format.
    if (dialect === responses && program.wayIn !== "/v1/responses") continue;
    if (missing !== undefined) {
      cells[dialect.name] = `not installed: ${missing}`;
      continue;
    }
    const fault = await runOver(program, dialect).catch((error: Error) => error.message);
    cells[dialect.name] = fault === undefined ? "works" : `fails: ${fault}`;
    console.log(
      `${labelOf(program)}, ${program.wayIn}, over ${dialect.name}: ${cells[dialect.name]}`,
    );
  }
  return cells;
}

/** Runs a program over an upstream. Returns the fault, or `undefined` if there is none. */
async function runOver(program: ClientProgram, dialect: Dialect): Promise<string | undefined> {
  const up = await startProvider(dialect);
  const target = `up/${dialect.model}`;
  const { model = target } = program;
  const gateway = await startGateway({
    config: {
      channels: { up: { ...dialect.channel(up.root), maxRetries: 0 } },
      models: model === target ? {} : { [model]: target },
    },
  });
  const work = mkdtempSync(join(tmpdir(), "portico-client-"));
  const recorder = await startRecorder(gateway.url);
  const [dir, home] = [join(work, "dir"), join(work, "home")];
  for (const folder of [dir, home]) mkdirSync(folder);
  const { token } = gateway;
  const place: Place = { url: recorder.url, token, model, dir, home, cache: cacheOf(program) };
  try {
    actAsModel(up, (request) => program.act(request, place));
    const output = await runTask(program, place);
    const fault = program.findFault({ output, place, up });
    if (fault !== undefined || VERBOSE) explain(output, up);
    else if (RECORD && dialect === strictAnthropic) writeRecording(program, recorder, work);
    return fault;
  } finally {
    recorder.close();
    await gateway.stop();
    await up.close();
    rmSync(work, { recursive: true, force: true });
  }
}

function runTask(program: ClientProgram, place: Place): Promise<string> {
  const { command, args, env = {}, files = {} } = program.start(place);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const child = spawn(command, args, {
    cwd: place.dir,
    // Some programs use PWD instead of their working directory.
    env: { ...process.env, PWD: place.dir, NO_PROXY: "*", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: TASK_MS,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes: Buffer) => {
      output += bytes.toString("utf8");
    });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(output));
  });
}

function explain(output: string, up: FakeProvider): void {
  console.error(output.slice(-4000));
  for (const why of up.refusals) console.error(`The upstream refused a request: ${why}`);
}
