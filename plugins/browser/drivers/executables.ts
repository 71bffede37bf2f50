/**
 * Finds the browser to start: `executablePath`, else the system's default browser if it is Chromium-based, else the
 * first installed one of Chrome, Brave, Edge, Chromium, Chrome Canary.
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

const runCommand = promisify(execFile);

type Kind = "chrome" | "brave" | "edge" | "chromium" | "canary";
const ORDER: readonly Kind[] = ["chrome", "brave", "edge", "chromium", "canary"];

// On Linux, the bare binary precedes Debian's wrapper script, which adds flags of its own.
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

const appPaths = (name: string): string[] =>
  [`/Applications/${name}.app`, join(homedir(), `Applications/${name}.app`)].map(
    (dir) => `${dir}/Contents/MacOS/${name}`,
  );
const MAC: Record<Kind, readonly string[]> = {
  chrome: appPaths("Google Chrome"),
  brave: appPaths("Brave Browser"),
  edge: appPaths("Microsoft Edge"),
  chromium: appPaths("Chromium"),
  canary: appPaths("Google Chrome Canary"),
};

const windowsRoots = (env: NodeJS.ProcessEnv): string[] =>
  [env["PROGRAMFILES"], env["PROGRAMFILES(X86)"], env["LOCALAPPDATA"]].filter(
    (root): root is string => Boolean(root),
  );
const windowsPaths = (env: NodeJS.ProcessEnv, path: string): string[] =>
  windowsRoots(env).map((root) => `${root}\\${path}`);

function candidatesFor(
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): Record<Kind, readonly string[]> {
  if (platform === "darwin") return MAC;
  if (platform !== "win32") return LINUX;
  return {
    chrome: windowsPaths(env, "Google\\Chrome\\Application\\chrome.exe"),
    brave: windowsPaths(env, "BraveSoftware\\Brave-Browser\\Application\\brave.exe"),
    edge: windowsPaths(env, "Microsoft\\Edge\\Application\\msedge.exe"),
    chromium: windowsPaths(env, "Chromium\\Application\\chrome.exe"),
    canary: windowsPaths(env, "Google\\Chrome SxS\\Application\\chrome.exe"),
  };
}

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/** Resolves an absolute path, or a command name in PATH. Returns `undefined` if it is not executable. */
async function locate(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (isAbsolute(name)) return (await isExecutable(name)) ? name : undefined;
  for (const dir of (env["PATH"] ?? "").split(delimiter)) {
    if (dir !== "" && (await isExecutable(join(dir, name)))) return join(dir, name);
  }
  return undefined;
}

async function locateKind(
  kind: Kind,
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  for (const name of candidatesFor(platform, env)[kind]) {
    const path = await locate(name, env);
    if (path !== undefined) return path;
  }
  return undefined;
}

/** Recognizes the browser by the name of a desktop file, bundle or ProgId. */
export function recognizeBrowser(name: string): Kind | undefined {
  const lowerName = name.toLowerCase();
  if (/chrome.*(canary|unstable)|chromessh/.test(lowerName)) return "canary";
  if (lowerName.includes("brave")) return "brave";
  if (/msedge|microsoft-edge|edgemac/.test(lowerName)) return "edge";
  if (lowerName.includes("chromium")) return "chromium";
  if (lowerName.includes("chrome")) return "chrome";
  return undefined;
}

async function readSystemDefault(
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const outputOf = async (command: string, args: string[]): Promise<string> =>
    (
      await runCommand(command, args, { timeout: 1500, env: { ...env } }).catch(() => ({
        stdout: "",
      }))
    ).stdout;
  if (platform === "linux")
    return (await outputOf("xdg-settings", ["get", "default-web-browser"])).trim();
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
    const text = await outputOf("plutil", ["-convert", "json", "-o", "-", plist]);
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
  return platform === "win32" ? outputOf("reg", ["query", key, "/v", "ProgId"]) : undefined;
}

/** Returns the absolute path of the browser to start. Rejects with a 503 if none is installed. */
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
  const preferred = recognizeBrowser((await readSystemDefault(platform, env)) ?? "");
  for (const kind of preferred === undefined ? ORDER : [preferred, ...ORDER]) {
    const path = await locateKind(kind, platform, env);
    if (path !== undefined) return path;
  }
  throw errors.noBrowserFound();
}
