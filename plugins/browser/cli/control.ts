/** The commands of `portico browser` for status, start and stop, profiles, tabs, navigation. */
import type { Command, CommandIO } from "portico/command-line";
import { browserCommand, jsonOption, TAB, TIMEOUT } from "./command.ts";

interface TabView {
  targetId: string;
  title: string;
  url: string;
}
interface ProfileView {
  name: string;
  driver: string;
  cdpUrl: string;
  running: boolean;
  tabCount: number;
  isDefault: boolean;
}
interface Trashed {
  trashed: string | null;
}

const status = browserCommand("GET /", {
  name: "status",
  summary: "Show whether a browser is running, and which one",
  view: statusLines,
});

const start = browserCommand("POST /start", {
  name: "start",
  options: { headless: { description: "Run without a window (--no-headless: with a window)" } },
  view: ({ profile, pid }: { profile: string; pid: number | null }) =>
    `The browser of profile ${profile} is running${pid === null ? "" : ` (pid ${pid})`}.`,
});

const stop = browserCommand("POST /stop", {
  name: "stop",
  view: ({ stopped }: { stopped: boolean }) =>
    stopped ? "The browser was stopped." : "The browser was not running.",
});

const profiles = browserCommand("GET /profiles", { name: "profiles", view: profileTable });

const createProfile = browserCommand("POST /profiles/create", {
  name: "create-profile",
  args: [{ name: "name" }],
  options: {
    color: { value: "#RRGGBB" },
    "cdp-url": { member: "cdpUrl", value: "URL" },
    driver: { description: "The driver (default: managed, or remote with --cdp-url)" },
    proxy: {
      value: "URL",
      description:
        "For a managed profile: the proxy to which the gateway's filtering proxy forwards its traffic",
    },
    "user-agent": {
      member: "userAgent",
      value: "TEXT",
      description: "For a managed profile: the user agent to send instead of the browser's own",
    },
    args: jsonOption(
      "args",
      "For a managed profile: additional command-line switches, as a JSON list",
    ),
  },
  view: ({ profile }: { profile: string }) => `Created profile ${profile}.`,
});

const deleteProfile = browserCommand("DELETE /profiles/:name", {
  name: "delete-profile",
  args: [{ name: "name" }],
  view: trashLine,
});

const resetProfile = browserCommand("POST /reset-profile", {
  name: "reset-profile",
  args: [{ name: "name", optional: true }],
  view: trashLine,
});

const tabs = browserCommand("GET /tabs", {
  name: "tabs",
  view({ running, tabs: open }: { running: boolean; tabs: TabView[] }) {
    if (!running) return "The browser is not running.";
    return open.length === 0 ? "No tab is open." : open.map(tabLine);
  },
});

const open = browserCommand("POST /tabs/open", {
  name: "open",
  summary: "Open a page in a new tab (default: an empty page)",
  args: [{ name: "address", member: "url", optional: true, fallback: "about:blank" }],
  options: TIMEOUT,
  view: tabLine,
});

const focus = browserCommand("POST /tabs/focus", {
  name: "focus",
  args: [{ name: "tab", member: "targetId" }],
});

const navigate = browserCommand("POST /navigate", {
  name: "navigate",
  summary: "Load a page",
  args: [{ name: "address", member: "url" }],
  options: { ...TAB, "wait-until": { member: "waitUntil" } },
  view: ({ url, status: code }: { url: string; status: number | null }) =>
    `${url}${code === null ? "" : ` (${code})`}`,
});

const TAB_TO_CLOSE = { name: "tab", member: "targetId", optional: true };
const closeTab = browserCommand("DELETE /tabs/:targetId", { name: "close", args: [TAB_TO_CLOSE] });
const closeLastTab = browserCommand("POST /act", { name: "close", constants: { kind: "close" } });

/**
 * Uses one of two routes, because only the action can close the tab that was used last; the other route needs an id.
 */
const close: Command = {
  ...closeTab,
  summary: "Close a tab (default: the tab that was used last)",
  run: (io: CommandIO) => (io.args["tab"] === undefined ? closeLastTab : closeTab).run?.(io),
};

export const controlCommands: Command[] = [
  status,
  start,
  stop,
  profiles,
  createProfile,
  deleteProfile,
  resetProfile,
  tabs,
  open,
  focus,
  close,
  navigate,
];

function tabLine({ targetId, title, url }: TabView): string {
  return `${targetId.slice(0, 8)}  ${title || "(no title)"}  ${url}`;
}

function statusLines(state: Record<string, unknown>): string[] {
  const running = state["running"] ? `yes${state["pid"] ? ` (pid ${state["pid"]})` : ""}` : "no";
  return [
    `profile    ${state["profile"]} (${state["driver"]})`,
    `running    ${running}`,
    `debugging  ${state["cdpUrl"]}`,
    ...(state["executablePath"] ? [`browser    ${state["executablePath"]}`] : []),
    ...(state["userDataDir"] ? [`user data  ${state["userDataDir"]}`] : []),
    `headless   ${state["headless"] ?? "unknown"}`,
    `egress     ${state["egress"]}`,
    `library    ${state["library"] ? "present" : "not installed"}`,
    ...((state["tabs"] ?? []) as TabView[]).map((tab) => `attached   ${tabLine(tab)}`),
  ];
}

function profileTable({ profiles: all }: { profiles: ProfileView[] }, io: CommandIO): string[] {
  return io.table(
    ["NAME", "DRIVER", "RUNNING", "TABS", "DEBUGGING"],
    all.map(({ name, isDefault, driver, running, tabCount, cdpUrl }) => [
      `${name}${isDefault ? " (default)" : ""}`,
      driver,
      running ? "yes" : "no",
      String(tabCount),
      cdpUrl,
    ]),
  );
}

function trashLine({ trashed }: Trashed): string {
  return trashed === null ? "The profile had no data." : `The profile's data is now in ${trashed}.`;
}
