/**
 * Which browser is started: `executablePath`, else the system's default browser where it is Chromium-based, else the
 * first of Chrome, Brave, Edge, Chromium, Chrome Canary that is there.
 */
// The spell checker reads what follows a backslash in a path of Windows as a word.
// cspell:ignore hrome ttps
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { errors } from "../errors.ts";

const run = promisify(execFile);

type Kind = "chrome" | "brave" | "edge" | "chromium" | "canary";
const ORDER: readonly Kind[] = ["chrome", "brave", "edge", "chromium", "canary"];

// On Linux the bare binary stands before Debian's wrapper script, which adds flags of its own.
const LINUX: Record<Kind, readonly string[]> = {
  chrome: ["google-chrome", "google-chrome-stable", "/opt/google/chrome/chrome"],
  brave: ["brave-browser", "brave-browser-stable", "brave", "/opt/brave.com/brave/brave"],
  edge: ["microsoft-edge", "microsoft-edge-stable", "/opt/microsoft/msedge/msedge"],
  chromium: [
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "chromium",
    "chromium-browser",
    "/snap/bin/chromium",
  ],
  canary: ["google-chrome-unstable", "google-chrome-canary", "/opt/google/chrome-unstable/chrome"],
};

const app = (name: string): string[] =>
  [`/Applications/${name}.app`, join(homedir(), `Applications/${name}.app`)].map(
    (dir) => `${dir}/Contents/MacOS/${name}`,
  );
const MAC: Record<Kind, readonly string[]> = {
  chrome: app("Google Chrome"),
  brave: app("Brave Browser"),
  edge: app("Microsoft Edge"),
  chromium: app("Chromium"),
  canary: app("Google Chrome Canary"),
};

const windowsRoots = (env: NodeJS.ProcessEnv): string[] =>
  [env["PROGRAMFILES"], env["PROGRAMFILES(X86)"], env["LOCALAPPDATA"]].filter(
    (root): root is string => Boolean(root),
  );
const windows = (env: NodeJS.ProcessEnv, path: string): string[] =>
  windowsRoots(env).map((root) => `${root}\\${path}`);

function candidates(
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): Record<Kind, readonly string[]> {
  if (platform === "darwin") return MAC;
  if (platform !== "win32") return LINUX;
  return {
    chrome: windows(env, "Google\\Chrome\\Application\\chrome.exe"),
    brave: windows(env, "BraveSoftware\\Brave-Browser\\Application\\brave.exe"),
    edge: windows(env, "Microsoft\\Edge\\Application\\msedge.exe"),
    chromium: windows(env, "Chromium\\Application\\chrome.exe"),
    canary: windows(env, "Google\\Chrome SxS\\Application\\chrome.exe"),
  };
}

const executable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/** A path, or a command's place in PATH. */
async function locate(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (isAbsolute(name)) return (await executable(name)) ? name : undefined;
  for (const dir of (env["PATH"] ?? "").split(delimiter)) {
    if (dir !== "" && (await executable(join(dir, name)))) return join(dir, name);
  }
  return undefined;
}

async function locateKind(
  kind: Kind,
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  for (const name of candidates(platform, env)[kind]) {
    const path = await locate(name, env);
    if (path !== undefined) return path;
  }
  return undefined;
}

/** What the name of a desktop file, bundle or ProgId says about the browser behind it. */
export function kindOfDefault(name: string): Kind | undefined {
  const low = name.toLowerCase();
  if (/chrome.*(canary|unstable)|chromessh/.test(low)) return "canary";
  if (low.includes("brave")) return "brave";
  if (/msedge|microsoft-edge|edgemac/.test(low)) return "edge";
  if (low.includes("chromium")) return "chromium";
  if (low.includes("chrome")) return "chrome";
  return undefined;
}

async function systemDefault(
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const ask = async (command: string, args: string[]): Promise<string> =>
    (await run(command, args, { timeout: 1500, env: { ...env } }).catch(() => ({ stdout: "" })))
      .stdout;
  if (platform === "linux")
    return (await ask("xdg-settings", ["get", "default-web-browser"])).trim();
  if (platform === "darwin") {
    const plist = join(
      homedir(),
      "Library/Preferences/com.apple.LaunchServices/com.apple.launchservices.secure.plist",
    );
    if (
      !(await readFile(plist).then(
        () => true,
        () => false,
      ))
    )
      return undefined;
    const text = await ask("plutil", ["-convert", "json", "-o", "-", plist]);
    try {
      const { LSHandlers = [] } = JSON.parse(text) as { LSHandlers?: Record<string, string>[] };
      return LSHandlers.find((entry) => entry["LSHandlerURLScheme"] === "https")?.[
        "LSHandlerRoleAll"
      ];
    } catch {
      return undefined;
    }
  }
  const key =
    "HKCU\\Software\\Microsoft\\Windows\\Shell\\Associations\\UrlAssociations\\https\\UserChoice";
  return platform === "win32" ? ask("reg", ["query", key, "/v", "ProgId"]) : undefined;
}

/** The browser to start, as an absolute path. Throws 503 where there is none. */
export async function findBrowser(
  configured: string | undefined,
  platform: NodeJS.Platform = process.platform,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  if (configured !== undefined && configured !== "") {
    const path = await locate(configured, env);
    if (path !== undefined) return path;
    throw errors.executableInvalid();
  }
  const preferred = kindOfDefault((await systemDefault(platform, env)) ?? "");
  for (const kind of preferred === undefined ? ORDER : [preferred, ...ORDER]) {
    const path = await locateKind(kind, platform, env);
    if (path !== undefined) return path;
  }
  throw errors.noBrowserFound();
}
