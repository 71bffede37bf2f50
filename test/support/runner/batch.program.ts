/**
 * Runs compiled test files one after another in this process. Descriptor 3 provides the next file's name, in a line, when
 * the previous one has ended. A file has ended when nothing of it keeps the process alive, as in a process of its own. A mark
 * on both outputs then separates its text from the next file's. If a file changes the process permanently, the process ends,
 * so that no other file is affected. Resources that files share are stopped after the last file.
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
    const after = ownState();
    const changed = Object.keys({ ...before, ...after }).filter(
      (name) => before[name] !== after[name],
    );
    if (changed.length > 0)
      throw new Error(`the file has changed ${changed.join(", ")} for those that come after it`);
    process.stdout.write(endMark);
    process.stderr.write(endMark);
  }
  await stopShared();
  process.exitCode = 0;
}

/** Returns the next file, or an empty string after the last one. It blocks, so that nothing else runs meanwhile. */
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

/** Resolves when nothing keeps the process alive. The immediate makes Node emit another "beforeExit". */
const idle = () =>
  new Promise<unknown>((resolve) => {
    process.once("beforeExit", resolve);
    setImmediate(() => {});
  });

/** It is not awaited, because an idle module with a pending top-level await would end the process. */
void run().catch((error) => {
  console.error(error);
  process.exit(1);
});
