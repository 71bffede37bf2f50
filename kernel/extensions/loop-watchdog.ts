/**
 * Ends endless loops that nothing inside the process can end: those that begin after an `await` or in a timer of a
 * hook. A worker thread sees that the main thread no longer answers, stops it through the inspector, looks whose file
 * is on top of the stack, and ends the running callback where that is a watched one. What the callback was part of is
 * lost (also other promise callbacks that waited in the same tick); the gateway goes on.
 */
import inspector from "node:inspector";
import { Worker } from "node:worker_threads";
import type { Logger } from "../types.ts";

export interface LoopWatchdog {
  /** Watches the code below a directory (a real path). The first call starts the thread a little later. */
  protect(dir: string, name: string): void;
  close(): Promise<void>;
}

export interface LoopWatchdogOptions {
  log: Logger;
  /** A loop of `name` at that place was ended. */
  onEnded(name: string, place: { file: string; line: number }): void;
  /** How long the main thread may be silent; default 8 s. */
  limitMs?: number;
}

const startAfterMs = 300;

/** Cells of the memory that both threads see. */
const BEAT = 0;
const BOUNDED = 1;
const shared = new Int32Array(new SharedArrayBuffer(8));

/** Says that a bounded call (see `runBounded`) is on the stack: its own time limit is cleaner than the watchdog. */
export function setBounded(depth: number): void {
  Atomics.store(shared, BOUNDED, depth);
}

export function createLoopWatchdog(options: LoopWatchdogOptions): LoopWatchdog {
  const limitMs = options.limitMs ?? 8000;
  const everyMs = Math.max(20, Math.min(500, limitMs / 4));
  const names = new Map<string, string>();
  let worker: Worker | undefined;
  let beat: NodeJS.Timeout | undefined;
  let starting: NodeJS.Timeout | undefined;

  function start(): void {
    // Somebody debugs this process: a breakpoint is not a loop.
    if (inspector.url() !== undefined) return;
    const started = new Worker(threadSource, {
      eval: true,
      name: "portico-loop-watchdog",
      workerData: { cells: shared.buffer, limitMs, everyMs },
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 },
    });
    started.unref();
    started.on("message", ({ name, file, line }: { name: string; file: string; line: number }) => {
      options.onEnded(name, { file, line });
    });
    started.on("error", (error) => options.log.warn({ err: error }, "the loop watchdog has ended"));
    beat = setInterval(() => Atomics.add(shared, BEAT, 1), everyMs).unref();
    for (const [dir, name] of names) started.postMessage({ dir, name });
    worker = started;
  }

  return {
    protect(dir, name) {
      if (names.get(dir) === name) return;
      names.set(dir, name);
      if (worker) worker.postMessage({ dir, name });
      // A start has better things to do than to start threads.
      else starting ??= setTimeout(start, startAfterMs).unref();
    },
    async close() {
      clearTimeout(starting);
      clearInterval(beat);
      await worker?.terminate();
      worker = undefined;
    },
  };
}

// Plain text, because the packaged gateway is one file and a worker needs one of its own.
const threadSource = `
const { parentPort, workerData } = require("node:worker_threads");
const { Session } = require("node:inspector");
const { fileURLToPath } = require("node:url");
const cells = new Int32Array(workerData.cells);
const dirs = new Map();
let last = -1, since = Date.now(), busy = false;
parentPort.on("message", ({ dir, name }) => dirs.set(dir, name));
setInterval(() => {
  const beat = Atomics.load(cells, 0);
  if (beat !== last || Atomics.load(cells, 1) > 0) { last = beat; since = Date.now(); return; }
  if (busy || Date.now() - since < workerData.limitMs) return;
  busy = true;
  inspect().finally(() => { busy = false; since = Date.now(); });
}, workerData.everyMs).unref();

async function inspect() {
  const session = new Session();
  session.connectToMainThread();
  const scripts = new Map();
  session.on("Debugger.scriptParsed", ({ params }) => scripts.set(params.scriptId, params.url));
  const paused = new Promise((resolve) => session.once("Debugger.paused", ({ params }) => resolve(params.callFrames)));
  session.post("Debugger.enable");
  session.post("Debugger.pause");
  const frames = await Promise.race([paused, new Promise((resolve) => setTimeout(resolve, 1000, []))]);
  let found;
  for (const frame of frames) {
    const url = frame.url || scripts.get(frame.location.scriptId) || "";
    if (!url.startsWith("file:")) continue;
    const file = fileURLToPath(url);
    for (const [dir, name] of dirs) if (file.startsWith(dir + "/")) found = { name, file, line: frame.location.lineNumber + 1 };
    if (found) break;
  }
  const moving = Atomics.load(cells, 0) !== last;
  if (found && !moving) session.post("Runtime.terminateExecution");
  session.post("Debugger.resume");
  await new Promise((resolve) => setTimeout(resolve, 100));
  session.post("Debugger.disable");
  session.disconnect();
  if (found && !moving) parentPort.postMessage(found);
}
`;
