/**
 * Runs test files one after another in this process: `batch.program FILE…`, compiled ones. A file has ended when nothing
 * of it keeps the process alive, as it would in a process of its own. A mark on both outputs then ends its text. What a
 * file changes of the process for good ends the process: no other file is to see that. What several files share is
 * stopped after the last.
 */
import { pathToFileURL } from "node:url";
import { endMark } from "./end-mark.ts";
import { stopShared } from "./shared.ts";

const uvu = Object.assign(globalThis, { UVU_DEFER: true, UVU_INDEX: 0, UVU_QUEUE: [] as unknown[][] });

async function run(files: readonly string[]): Promise<void> {
  const { exec } = await import("uvu");
  const before = ownState();
  for (const file of files) {
    uvu.UVU_QUEUE.splice(0, Number.POSITIVE_INFINITY, [null]);
    await import(pathToFileURL(file).href);
    await exec();
    await idle();
    const now = ownState();
    const changed = Object.keys({ ...before, ...now }).filter((name) => before[name] !== now[name]);
    if (changed.length > 0) throw new Error(`the file has changed ${changed.join(", ")} for those that come after it`);
    process.stdout.write(endMark);
    process.stderr.write(endMark);
  }
  await stopShared();
  process.exitCode = 0;
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
void run(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
