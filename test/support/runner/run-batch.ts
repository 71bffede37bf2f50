/**
 * Runs test files in one process, each with its own result. A file that ends the process, hangs, or registers no test has
 * failed, and the files after it run in the next process.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { endMark } from "./end-mark.ts";

export interface FileResult {
  file: string;
  passed: number;
  failed: number;
  ms: number;
  output: string;
}

export interface BatchOptions {
  /** The arguments of `node` that run `batch.program.ts`. */
  program: readonly string[];
  /** Returns the path of a file's compiled form. */
  compiled(file: string): string;
  env?: NodeJS.ProcessEnv;
  /** The time in ms after which a file is killed. */
  timeoutMs: number;
  done(result: FileResult): void;
}

/** The ids of the running process groups. */
const running = new Set<number>();

/** Kills the running batches, with the gateways and browsers that they started. */
export function stopBatches(): void {
  for (const group of running) endGroup(group);
}

/** Takes and runs one file after another. Another process may take some of the remaining files and run them. */
export async function runBatch(files: string[], options: BatchOptions): Promise<void> {
  while (files.length > 0) await runProcess(files, options);
}

/** Runs files in one process, until none remains or one ends the process. */
async function runProcess(files: string[], options: BatchOptions): Promise<void> {
  const child = spawn(process.execPath, options.program, {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    env: { ...process.env, ...options.env },
    detached: true,
  });
  const group = child.pid;
  if (group) running.add(group);
  // Kills the processes that a test left running, which also keep the outputs open.
  const exited = once(child, "exit").then(([code]) => {
    endGroup(group);
    if (group) running.delete(group);
    return code === 0;
  });
  const outputs = [child.stdout, child.stderr].map((output) => splitOutput(output as Readable));
  const names = child.stdio[3] as Writable;
  // If the process has ended, its outputs report that.
  names.on("error", () => {});
  for (let file = files.shift(); file !== undefined; ) {
    const startedAt = Date.now();
    let timeoutNote = "";
    const timer = setTimeout(() => {
      timeoutNote = `\nstill running after ${options.timeoutMs / 1000} s: killed`;
      endGroup(group);
    }, options.timeoutMs);
    names.write(`${options.compiled(file)}\n`);
    const texts = await Promise.all(outputs.map((output) => output.next()));
    const isMarked = texts.every(({ done }) => !done);
    const next = isMarked ? files.shift() : undefined;
    if (next === undefined) names.end();
    const endedWell = next === undefined ? (await exited) && isMarked : true;
    clearTimeout(timer);
    const output = texts.map(({ value }) => value).join("") + timeoutNote;
    options.done({ file, ...count(output, endedWell), ms: Date.now() - startedAt, output });
    file = next;
  }
}

/** Yields the text before each mark, and returns the text after the last one. */
async function* splitOutput(stream: Readable): AsyncGenerator<string, string> {
  let rest = "";
  for await (const text of stream.setEncoding("utf8")) {
    const parts = (rest + text).split(endMark);
    rest = parts.pop() ?? "";
    yield* parts;
  }
  return rest;
}

function endGroup(group: number | undefined): void {
  try {
    if (group) process.kill(-group, "SIGKILL");
  } catch {
    // No process was left.
  }
}

/**
 * Parses uvu's summary. A file without one counts as a failure, and so does one that then ended with an error or too late.
 */
function count(output: string, endedWell: boolean): { passed: number; failed: number } {
  const total = /^\s*Total:\s+(\d+)/m.exec(output);
  const passedLine = /^\s*Passed:\s+(\d+)/m.exec(output);
  const passed = Number(passedLine?.[1] ?? 0);
  const failed = Number(total?.[1] ?? 0) - passed;
  if (!total || Number(total[1]) === 0) return { passed: 0, failed: 1 };
  return { passed, failed: endedWell ? failed : Math.max(1, failed) };
}
