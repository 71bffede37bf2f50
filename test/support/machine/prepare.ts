/** Brings what the suite needs and the registry cannot, from the system's package manager. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { PATIENCE_MS } from "../until.ts";
import { makeClusterOnce } from "./cluster.ts";

interface Need {
  /** Any one of these will do: paths, or names in the path. */
  programs: readonly string[];
  package: string;
  /** The test files that use it. */
  for: RegExp;
}

const chromium: Need = {
  programs: [
    // The program itself, as the gateway finds it: Debian's `chromium` is a script that starts twenty others first.
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

/** The directory of PostgreSQL's server programs: Debian keeps them out of the way of the path. */
export function findPostgres(): string | undefined {
  const versions = "/usr/lib/postgresql";
  const dirs = existsSync(versions)
    ? readdirSync(versions).map((version) => join(versions, version, "bin"))
    : [];
  const all = [...dirs.sort().reverse(), ...(process.env["PATH"] ?? "").split(delimiter)];
  return all.find((dir) => existsSync(join(dir, "initdb")) && existsSync(join(dir, "postgres")));
}

/** Installs what these test files (paths below `test/`) need and the machine lacks. */
export function prepareMachine(files: readonly string[]): void {
  for (const need of needs)
    if (files.some((file) => need.for.test(file)) && !find(need)) install(need);
  if (files.some((file) => postgres.for.test(file)) && !findPostgres()) install(postgres);
}

/** What servers of these test files copy, into `bundle`; `temporary` is where this run has its directories. */
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
 * What stands between a page and its tests; the address bar's pages: half a second of a core for each page opened; and
 * the process that is started for a next page, which most tests do not open.
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
 * `browser` settings of a gateway on a machine with root, without a display, and perhaps a busy one. Which browser it is,
 * is said: to ask the desktop for it starts some thirty programs.
 */
export const headlessBrowser = {
  executablePath: findChromium(),
  headless: true,
  noSandbox: true,
  launchTimeoutMs: PATIENCE_MS,
  remoteCdpTimeoutMs: PATIENCE_MS,
  remoteCdpHandshakeTimeoutMs: PATIENCE_MS,
};

/** Of a browser that a test starts as a person does, not through a gateway. */
export const personsArgs = ["--no-sandbox", `--disable-features=${disabled}`];

/** The program of a browser of that kind. */
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
