/** Brings what the suite needs and the registry cannot, from the system's package manager. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

interface Need {
  /** Any one of these will do. */
  programs: readonly string[];
  package: string;
  /** The test files that use it. */
  for: RegExp;
}

const chromium: Need = {
  programs: [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "brave-browser",
    "microsoft-edge",
  ],
  package: "chromium",
  for: /^plugins\/(browser|dashboard|nodes)\//,
};
const needs: readonly Need[] = [
  chromium,
  { programs: ["strace"], package: "strace", for: /^kernel\/store\// },
  { programs: ["prlimit"], package: "util-linux", for: /^(kernel\/store|plugins\/agent)\// },
];

/** Installs what these test files (paths below `test/`) need and the machine lacks. */
export function prepareMachine(files: readonly string[]): void {
  for (const need of needs) if (files.some((file) => need.for.test(file)) && !find(need)) install(need);
}

/** The program of a browser of that kind. */
export function findChromium(): string | undefined {
  return find(chromium);
}

function find({ programs }: Need): string | undefined {
  const dirs = (process.env["PATH"] ?? "").split(delimiter);
  return programs.flatMap((name) => dirs.map((dir) => join(dir, name))).find((file) => existsSync(file));
}

function install({ programs, package: name }: Need): void {
  const asRoot = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
  console.log(`No ${programs[0]} found: installing ${name} with apt-get.`);
  try {
    for (const words of [["update"], ["install", "-y", "--no-install-recommends", name]]) {
      const [command = "", ...args] = [...asRoot, "apt-get", ...words];
      execFileSync(command, args, { stdio: "ignore", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } });
    }
  } catch {
    throw new Error(`These tests need ${name}, which could not be installed: install it and run the tests again.`);
  }
}
