/**
 * What is called as `portico` where the program is built: runs it with what the engine made of its code in an earlier run,
 * so that its functions need not be compiled again. That is kept beside the program, for `start` and for all other words,
 * and is made anew where there is none that this very Node has made.
 */
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";
import { holdEngine } from "./home/engine.ts";
import { keep, readKept } from "./modules/cache.ts";

/** A gateway has started by then, and the engine has thrown nothing of that away. */
const startedAfterMs = 3000;

const here = import.meta.dirname;
const program = join(here, "program.cjs");
const isStart = process.argv[2] === "start";
const compiled = join(here, isStart ? "start.v8" : "command.v8");

if (isStart) holdEngine(); // before anything is compiled: what is kept is good for one setting
const code = readFileSync(program, "latin1");
const hash = code.slice(0, code.indexOf("\n"));
const kept = readKept<{ id: string }>(compiled);
const cachedData = kept && kept.head.id === idOf(kept.body) ? kept.body : undefined;
const script = new Script(code, { filename: program, cachedData });
if (!cachedData || script.cachedDataRejected) keepLater();
const module = { exports: {} };
script.runInThisContext()(module.exports, createRequire(program), module, program, here);

/**
 * The engine compares its version up to the patch, and the program's length: it takes what is damaged, and what another
 * build of Node has made, which crashes.
 */
function idOf(body: Buffer): string {
  const { size, mtimeMs } = statSync(process.execPath);
  return `${hash} ${process.version} ${process.arch} ${size} ${mtimeMs} ${crc32(body)}`;
}

function keepLater(): void {
  try {
    accessSync(here, constants.W_OK);
    setTimeout(keepCompiled, startedAfterMs).unref();
    process.once("exit", keepCompiled);
  } catch {
    // a read-only installation does without
  }
}

function keepCompiled(): void {
  process.off("exit", keepCompiled);
  if (isStart) holdEngine();
  const body = script.createCachedData();
  keep(compiled, { id: idOf(body) }, body);
}
