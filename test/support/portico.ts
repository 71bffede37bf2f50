/** Runs the command line, in a process of its own or in this one. */
import { spawn } from "node:child_process";
import { loaderFor } from "../../kernel/package-loader.ts";
import { runProgram } from "../../kernel/program/program.ts";
import { porticoProgram } from "./runner/bundle.ts";
import { packageDir } from "./gateway.ts";

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `portico …words` with that home in a new process. */
export function portico(
  home: string,
  words: readonly string[],
  options: { input?: string; cwd?: string; env?: Record<string, string> } = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...porticoProgram(), ...words], {
      cwd: options.cwd ?? packageDir,
      env: {
        ...process.env,
        ...options.env,
        PORTICO_HOME: home,
        PORTICO_URL: undefined,
        PORTICO_TOKEN: undefined,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
    });
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
    child.stdin.end(options.input);
  });
}

/** Options for commands that run until they are stopped. */
interface RunOptions {
  signal?: AbortSignal;
  /** Receives everything that was printed so far. */
  onOutput?(stdout: string): void;
}

/** Runs `portico …words` with that home in this process, which is much faster. The current directory is the home. */
export async function porticoHere(
  home: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  { signal = new AbortController().signal, onOutput = () => {} }: RunOptions = {},
): Promise<CommandResult> {
  let stdout = "";
  let stderr = "";
  const code = await runProgram({
    argv: [...words],
    env: { ...env, PORTICO_HOME: home },
    cwd: home,
    version: "0.0.0-test",
    signal,
    stdout: {
      write(text) {
        stdout += text;
        onOutput(stdout);
      },
    },
    stderr: {
      write: (text) => {
        stderr += text;
      },
    },
    loaderFor,
  });
  return { code, stdout, stderr };
}
