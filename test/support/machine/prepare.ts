/** Installs programs that the suite needs and npm does not provide, with the system's package manager. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { PATIENCE_MS } from "../until.ts";
import { makeClusterOnce } from "./cluster.ts";

interface Need {
  /** Alternative programs, as paths or as names in the `PATH`. One of them is enough. */
  programs: readonly string[];
  package: string;
  /** The test files that use it. */
  for: RegExp;
}

const chromium: Need = {
  programs: [
    // The program itself, as the gateway finds it. Debian's `chromium` is a script that starts twenty others first.
    "/usr/lib/chromium/chromium",
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
const postgres: Need = {
  programs: ["initdb"],
  package: "postgresql",
  for: /^(plugins\/(store\/postgres\/|cluster\/)|examples\/deploy\/rolling)/,
};
const needs: readonly Need[] = [
  chromium,
  { programs: ["curl"], package: "curl", for: /^examples\/deploy\// },
  { programs: ["strace"], package: "strace", for: /^plugins\/store\// },
  { programs: ["prlimit"], package: "util-linux", for: /^plugins\/(store|agent)\// },
];

/** Returns the directory of PostgreSQL's server programs, which Debian does not put in the `PATH`. */
export function findPostgres(): string | undefined {
  const versions = "/usr/lib/postgresql";
  const dirs = existsSync(versions)
    ? readdirSync(versions).map((version) => join(versions, version, "bin"))
    : [];
  const all = [...dirs.sort().reverse(), ...(process.env["PATH"] ?? "").split(delimiter)];
  return all.find((dir) => existsSync(join(dir, "initdb")) && existsSync(join(dir, "postgres")));
}

/** Installs the missing programs that these test files (paths below `test/`) need. */
export function prepareMachine(files: readonly string[]): void {
  for (const need of needs)
    if (files.some((file) => need.for.test(file)) && !find(need)) install(need);
  if (files.some((file) => postgres.for.test(file)) && !findPostgres()) install(postgres);
}

/**
 * Creates the cluster that the servers of these test files copy, in `bundle`. `temporary` is the run's temporary directory.
 */
export async function preparePostgres(
  files: readonly string[],
  temporary: string,
  bundle: string,
): Promise<void> {
  const bin = files.some((file) => postgres.for.test(file)) && findPostgres();
  if (!bin) return;
  mkdirSync(bundle, { recursive: true });
  await makeClusterOnce(bin, temporary, join(bundle, "postgres"));
}

/**
 * Browser features that are disabled: those that delay pages, the pages of the address bar, which cost half a second of a
 * core for each opened page, and the spare process for a next page, which most tests do not open.
 */
const disabled = [
  "HttpsUpgrades",
  "PaintHolding",
  "DestroyProfileOnBrowserClose",
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
  "AimEnabled",
  "SpareRendererForSitePerProcess",
].join();

/**
 * The `browser` settings of a gateway that runs as root, without a display, perhaps on a busy machine. The program is set,
 * because asking the desktop for it starts some thirty programs.
 */
export const headlessBrowser = {
  executablePath: findChromium(),
  headless: true,
  noSandbox: true,
  launchTimeoutMs: PATIENCE_MS,
  remoteCdpTimeoutMs: PATIENCE_MS,
  remoteCdpHandshakeTimeoutMs: PATIENCE_MS,
};

/** The arguments of a browser that a test starts itself, as a user would, not through a gateway. */
export const userBrowserArgs = ["--no-sandbox", `--disable-features=${disabled}`];

/** Returns the path of a Chromium browser, if there is one. */
export function findChromium(): string | undefined {
  return find(chromium);
}

function find({ programs }: Need): string | undefined {
  const dirs = (process.env["PATH"] ?? "").split(delimiter);
  return programs
    .flatMap((name) => (isAbsolute(name) ? [name] : dirs.map((dir) => join(dir, name))))
    .find((file) => existsSync(file));
}

function install({ programs, package: name }: Need): void {
  const asRoot = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
  console.log(`No ${programs[0]} found: installing ${name} with apt-get.`);
  try {
    for (const words of [["update"], ["install", "-y", "--no-install-recommends", name]]) {
      const [command = "", ...args] = [...asRoot, "apt-get", ...words];
      execFileSync(command, args, {
        stdio: "ignore",
        env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      });
    }
  } catch {
    throw new Error(
      `These tests need ${name}, which could not be installed: install it and run the tests again.`,
    );
  }
}
