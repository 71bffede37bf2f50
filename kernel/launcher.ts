/**
 * What is called as `portico` where the program is built: runs it with what the engine made of its code in an earlier run,
 * so that its functions need not be compiled again. That is kept beside the program, and is made anew where there is none
 * that this very Node has made. `start` has the whole program; a command a part of it, and the rest when it asks for that.
 */
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";
import { holdEngine, letEngineGoAtWork } from "./home/engine.ts";
import { keep, readKept } from "./modules/cache.ts";

/** A gateway has started by then, and the engine has thrown nothing of that away. */
const startedAfterMs = 3000;

const here = import.meta.dirname;
const isStart = process.argv[2] === "start";

if (isStart) holdEngine(); // before anything is compiled: what is kept is good for one setting
const { run } = evaluate(isStart ? "program" : "command");
run(createRequire(join(here, "program.cjs")), () => evaluate("program").chunks);

function evaluate(name: "command" | "program") {
  const file = join(here, `${name}.cjs`);
  const compiled = join(here, `${isStart ? "start" : name}.v8`);
  const code = readFileSync(file, "latin1");
  const hash = code.slice(0, code.indexOf("\n"));
  const kept = readKept<{ id: string }>(compiled);
  const cachedData = kept && kept.head.id === idOf(hash, kept.body) ? kept.body : undefined;
  const script = new Script(code, { filename: file, cachedData });
  if (!cachedData || script.cachedDataRejected) keepLater();
  return script.runInThisContext()(file, here, pathToFileURL(file).href);

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
    if (isStart) letEngineGoAtWork();
    keep(compiled, { id: idOf(hash, body) }, body);
  }
}

/**
 * The engine compares its version up to the patch, and the program's length: it takes what is damaged, and what another
 * build of Node has made, which crashes.
 */
function idOf(hash: string, body: Buffer): string {
  const { size, mtimeMs } = statSync(process.execPath);
  return `${hash} ${process.version} ${process.arch} ${size} ${mtimeMs} ${crc32(body)}`;
}
