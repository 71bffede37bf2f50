/**
 * Runs test files one after another in this process: compiled ones, each named on a line of descriptor 3 when the one
 * before it has ended. A file has ended when nothing of it keeps the process alive, as it would in a process of its own.
 * A mark on both outputs then ends its text. What a file changes of the process for good ends the process: no other file
 * is to see that. What several files share is stopped after the last.
 */
import { readSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { endMark } from "./end-mark.ts";
import { stopShared } from "./shared.ts";

const uvu = Object.assign(globalThis, {
  UVU_DEFER: true,
  UVU_INDEX: 0,
  UVU_QUEUE: [] as unknown[][],
});

const NAMES = 3;

async function run(): Promise<void> {
  const { exec } = await import("uvu");
  const before = ownState();
  for (let file = nextFile(); file !== ""; file = nextFile()) {
    uvu.UVU_QUEUE.splice(0, Number.POSITIVE_INFINITY, [null]);
    await import(pathToFileURL(file).href);
    await exec();
    await idle();
    const now = ownState();
    const changed = Object.keys({ ...before, ...now }).filter((name) => before[name] !== now[name]);
    if (changed.length > 0)
      throw new Error(`the file has changed ${changed.join(", ")} for those that come after it`);
    process.stdout.write(endMark);
    process.stderr.write(endMark);
  }
  await stopShared();
  process.exitCode = 0;
}

/** Empty when none follows. Nothing else is to run meanwhile. */
function nextFile(): string {
  const bytes = Buffer.alloc(4096);
  let line = "";
  for (
    let count = -1;
    count !== 0 && !line.endsWith("\n");
    line += bytes.toString("utf8", 0, count)
  )
    count = readSync(NAMES, bytes);
  return line.trimEnd();
}

const ownState = (): Record<string, unknown> => ({
  ...process.env,
  "the directory": process.cwd(),
  "the umask": process.umask(),
  "global fetch": fetch,
});

/** Until nothing is left that keeps the process alive. The immediate: what ran in the last "beforeExit" gets one more. */
const idle = () =>
  new Promise<unknown>((resolve) => {
    process.once("beforeExit", resolve);
    setImmediate(() => {});
  });

/** Not awaited: a module that waits would end the process when it is idle. */
void run().catch((error) => {
  console.error(error);
  process.exit(1);
});
