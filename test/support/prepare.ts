/** Brings what the suite needs and the registry cannot: a Chromium, from the system's package manager. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const browsers = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
  "brave-browser",
  "microsoft-edge",
];

export async function prepareMachine(): Promise<void> {
  if (!findChromium()) install("chromium");
}

/** The program of a browser of that kind. */
export function findChromium(): string | undefined {
  return findProgram(browsers);
}

function findProgram(names: readonly string[]): string | undefined {
  const dirs = (process.env["PATH"] ?? "").split(delimiter);
  return names.flatMap((name) => dirs.map((dir) => join(dir, name))).find((file) => existsSync(file));
}

function install(name: string): void {
  const asRoot = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
  console.log(`No Chromium-based browser found: installing ${name} with apt-get.`);
  try {
    for (const words of [["update"], ["install", "-y", "--no-install-recommends", name]]) {
      const [command = "", ...args] = [...asRoot, "apt-get", ...words];
      execFileSync(command, args, { stdio: "ignore", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } });
    }
  } catch {
    throw new Error(
      `The browser tests need a Chromium, and ${name} could not be installed: install one and run the tests again.`,
    );
  }
}
