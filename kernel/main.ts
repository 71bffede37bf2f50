/** The process: its words, its streams, its interrupt. Everything else is handed in from here. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { loaderFor } from "./package-loader.ts";
import { runProgram } from "./program/program.ts";

/** `kernel/` in a checkout, `.build/` when built: the package is the directory above. */
const packageDir = dirname(import.meta.dirname);
const { version } = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8")) as {
  version: string;
};
const interrupted = new AbortController();

/** A gateway takes the signals over; any other command is simply ended by them. */
process.once("SIGINT", () => interrupted.abort());
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
});

void runProgram({
  argv: process.argv.slice(2),
  env: process.env,
  cwd: process.cwd(),
  version,
  signal: interrupted.signal,
  stdout: process.stdout,
  stderr: process.stderr,
  loaderFor,
}).then((code) => {
  process.exitCode = code;
});
