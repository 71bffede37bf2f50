/** The command line as a process of its own. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { packageDir } from "./gateway.ts";

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `portico …words` from the sources with that home. */
export function portico(
  home: string,
  words: readonly string[],
  options: { input?: string; cwd?: string; env?: Record<string, string> } = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ["--import", import.meta.resolve("tsx"), join(packageDir, "kernel/main.ts"), ...words],
      {
        cwd: options.cwd ?? packageDir,
        env: { ...process.env, ...options.env, PORTICO_HOME: home, PORTICO_URL: undefined, PORTICO_TOKEN: undefined },
        stdio: ["pipe", "pipe", "pipe"],
      },
    );
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk) => (stdout += chunk));
    child.stderr.on("data", (chunk) => (stderr += chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
    child.stdin.end(options.input);
  });
}
