/** The entry point: passes the arguments, the streams and the interrupt of the process to the program. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { loaderFor } from "./package-loader.ts";
import { runProgram } from "./program/program.ts";

/** `kernel/` in a checkout, `.build/` when built: the package is the directory above. */
const packageDir = dirname(import.meta.dirname);
const { version } = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8")) as {
  version: string;
};
const interrupt = new AbortController();

/** A gateway handles the signals itself; any other command is ended by them. */
process.once("SIGINT", () => interrupt.abort());
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
});

void runProgram({
  argv: process.argv.slice(2),
  env: process.env,
  cwd: process.cwd(),
  version,
  signal: interrupt.signal,
  stdout: process.stdout,
  stderr: process.stderr,
  loaderFor,
}).then((code) => {
  process.exitCode = code;
});
