/** `portico browser`: status, start and stop, profiles, tabs, navigation. */
import type { Command } from "portico/command-line";
import { command, flag, jsonOption, TAB, text } from "./command.ts";

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

const tabLine = ({ targetId, title, url }: TabView): string =>
  `${targetId.slice(0, 8)}  ${title || "(no title)"}  ${url}`;

function statusLines(status: Record<string, unknown>): string[] {
  const running = status["running"] ? `yes${status["pid"] ? ` (pid ${status["pid"]})` : ""}` : "no";
  return [
    `profile    ${status["profile"]} (${status["driver"]})`,
    `running    ${running}`,
    `debugging  ${status["cdpUrl"]}`,
    ...(status["executablePath"] ? [`browser    ${status["executablePath"]}`] : []),
    ...(status["userDataDir"] ? [`user data  ${status["userDataDir"]}`] : []),
    `headless   ${status["headless"] ?? "unknown"}`,
    `egress     ${status["egress"]}`,
    `library    ${status["library"] ? "present" : "not installed"}`,
    ...((status["tabs"] ?? []) as TabView[]).map((tab) => `attached   ${tabLine(tab)}`),
  ];
}

const trashed = ({ trashed: path }: { trashed: string | null }): string =>
  path === null ? "There were no data." : `Its data lie in ${path} now.`;

export const controlCommands: Command[] = [
  command({
    name: "status",
    summary: "Whether the browser runs, and which it is",
    request: () => ({ method: "GET", path: "/" }),
    human: statusLines,
  }),
  command({
    name: "start",
    summary: "Start the browser",
    options: { headless: flag("Without a window (--no-headless: with one)") },
    request: (io) => ({
      method: "POST",
      path: "/start",
      body: { headless: io.options["headless"] },
    }),
    human: ({ profile, pid }: { profile: string; pid: number | null }) =>
      `The browser of ${profile} runs${pid === null ? "" : ` (pid ${pid})`}.`,
  }),
  command({
    name: "stop",
    summary: "Stop the browser",
    request: () => ({ method: "POST", path: "/stop" }),
    human: ({ stopped }: { stopped: boolean }) => (stopped ? "Stopped." : "It was not running."),
  }),
  command({
    name: "profiles",
    summary: "All profiles",
    request: () => ({ method: "GET", path: "/profiles" }),
    human: ({ profiles }: { profiles: ProfileView[] }, io) =>
      io.table(
        ["NAME", "DRIVER", "RUNNING", "TABS", "DEBUGGING"],
        profiles.map((one) => [
          `${one.name}${one.isDefault ? " (default)" : ""}`,
          one.driver,
          one.running ? "yes" : "no",
          String(one.tabCount),
          one.cdpUrl,
        ]),
      ),
  }),
  command({
    name: "create-profile",
    summary: "Make a profile",
    args: [{ name: "name" }],
    options: {
      color: text("Hex colour of its window", "#RRGGBB"),
      "cdp-url": text("A browser that runs elsewhere", "URL"),
      driver: {
        type: "string",
        choices: ["managed", "remote", "extension"],
        description: "Default: managed, or remote with --cdp-url",
      },
      proxy: text("Of a managed one: a further proxy behind the filtering one", "URL"),
      "user-agent": text("Of a managed one: in place of the browser's own", "TEXT"),
      args: text("Of a managed one: a list of further switches", "JSON"),
    },
    request: (io) => ({
      method: "POST",
      path: "/profiles/create",
      body: {
        name: io.args["name"],
        color: io.options["color"],
        cdpUrl: io.options["cdp-url"],
        driver: io.options["driver"],
        proxy: io.options["proxy"],
        userAgent: io.options["user-agent"],
        args: jsonOption(io, "args"),
      },
    }),
    human: ({ profile }: { profile: string }) => `Made profile ${profile}.`,
  }),
  command({
    name: "delete-profile",
    summary: "Delete a profile; its data go to the trash",
    args: [{ name: "name" }],
    request: ({ args }) => ({
      method: "DELETE",
      path: `/profiles/${encodeURIComponent(args["name"] ?? "")}`,
    }),
    human: trashed,
  }),
  command({
    name: "reset-profile",
    summary: "Stop the browser and move its data into the trash",
    args: [{ name: "name", optional: true }],
    request: ({ args }) => ({
      method: "POST",
      path: "/reset-profile",
      body: { name: args["name"] },
    }),
    human: trashed,
  }),
  command({
    name: "tabs",
    summary: "All tabs",
    request: () => ({ method: "GET", path: "/tabs" }),
    human: ({ running, tabs }: { running: boolean; tabs: TabView[] }) => {
      if (!running) return "The browser is not running.";
      return tabs.length === 0 ? "No tab is open." : tabs.map(tabLine);
    },
  }),
  command({
    name: "open",
    summary: "Open a page in a new tab",
    args: [{ name: "address", optional: true }],
    options: { timeout: TAB["timeout"]! },
    request: ({ args }) => ({ method: "POST", path: "/tabs/open", body: { url: args["address"] } }),
    human: tabLine,
  }),
  command({
    name: "focus",
    summary: "Bring a tab to the front",
    args: [{ name: "tab" }],
    request: ({ args }) => ({
      method: "POST",
      path: "/tabs/focus",
      body: { targetId: args["tab"] },
    }),
  }),
  {
    ...command({
      name: "close",
      summary: "Close a tab (default: the last used one)",
      args: [{ name: "tab", optional: true }],
      request: ({ args }) =>
        args["tab"] === undefined
          ? { method: "POST", path: "/act", body: { kind: "close" } }
          : { method: "DELETE", path: `/tabs/${encodeURIComponent(args["tab"])}` },
    }),
  },
  command({
    name: "navigate",
    summary: "Load a page",
    args: [{ name: "address" }],
    options: {
      ...TAB,
      "wait-until": {
        type: "string",
        choices: ["load", "domcontentloaded", "networkidle", "commit"],
        description: "When it counts as loaded",
      },
    },
    request: ({ args, options }) => ({
      method: "POST",
      path: "/navigate",
      body: { url: args["address"], waitUntil: options["wait-until"] },
    }),
    human: ({ url, status }: { url: string; status: number | null }) =>
      `${url}${status === null ? "" : ` (${status})`}`,
  }),
];
