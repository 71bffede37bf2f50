/** The commands of `portico browser` for snapshots, screenshots, and a page's messages and requests. */
import type { Command } from "portico/command-line";
import { browserCommand, flag, REF, TAB } from "./command.ts";

interface SnapshotView {
  snapshot: string;
  title: string;
  url: string;
  path?: string;
  diff?: { full: boolean };
}
interface RequestView {
  method: string;
  status: number | null;
  failure: string | null;
  url: string;
}

const snapshot = browserCommand("GET /snapshot", {
  name: "snapshot",
  summary: "Show the page as text with refs",
  options: {
    ...TAB,
    mode: { choices: ["efficient", "full"], fallback: "default" },
    efficient: {
      ...flag("The same as --mode efficient"),
      member: "mode",
      read: (isSet: boolean) => (isSet ? "efficient" : undefined),
    },
    selector: { value: "CSS" },
    frame: { value: "FRAME" },
    "max-chars": { member: "maxChars" },
  },
  view: snapshotLines,
});

const screenshot = browserCommand("POST /screenshot", {
  name: "screenshot",
  summary: "Take a screenshot of the page or of an element",
  options: {
    ...TAB,
    "full-page": { member: "fullPage" },
    ref: { value: "REF" },
    type: {},
    quality: {},
  },
  view: pathLine,
});

const pdf = browserCommand("POST /pdf", {
  name: "pdf",
  summary: "Save the page as a PDF",
  options: { ...TAB, format: { value: "PAPER" }, landscape: {} },
  view: pathLine,
});

const highlight = browserCommand("POST /highlight", {
  name: "highlight",
  summary: "Draw a box around an element for a few seconds",
  args: [REF],
  options: TAB,
});

const consoleMessages = browserCommand("GET /console", {
  name: "console",
  summary: "Show the messages of the page's console",
  options: { ...TAB, level: { choices: ["debug", "info", "warning", "error"] } },
  view: ({ messages }: { messages: { level: string; text: string }[] }) =>
    messages.map(({ level, text }) => `${level.padEnd(7)}  ${text}`),
});

const errors = browserCommand("GET /errors", {
  name: "errors",
  summary: "Show the errors of the page's scripts",
  options: TAB,
  view: ({ errors: pageErrors }: { errors: { name: string; message: string }[] }) =>
    pageErrors.map(({ name, message }) => `${name}: ${message}`),
});

const requests = browserCommand("GET /requests", {
  name: "requests",
  summary: "Show the requests that the page sent",
  options: { ...TAB, filter: { value: "TEXT" } },
  view: requestLines,
});

const responseBody = browserCommand("POST /response/body", {
  name: "responsebody",
  summary: "Show the body of a response",
  args: [
    {
      name: "address",
      member: "url",
      description: "The address of the response, a part of the address, or a pattern with *",
    },
  ],
  options: { ...TAB, "max-chars": { member: "maxChars" }, next: {} },
  view: ({ response }: { response: { body: string } }) => response.body,
});

const traceStart = browserCommand("POST /trace/start", {
  name: "start",
  options: {
    screenshots: { description: "Include screenshots (default; --no-screenshots: leave them out)" },
    snapshots: { description: "Include page snapshots (default; --no-snapshots: leave them out)" },
    sources: {},
  },
});

const traceStop = browserCommand("POST /trace/stop", {
  name: "stop",
  summary: "Stop the trace and write the file",
  options: { path: { value: "FILE" } },
  view: pathLine,
});

export const lookCommands: Command[] = [
  snapshot,
  screenshot,
  pdf,
  highlight,
  consoleMessages,
  errors,
  requests,
  responseBody,
  {
    name: "trace",
    summary: "Record a trace for the trace viewer",
    commands: [traceStart, traceStop],
  },
];

function snapshotLines({ snapshot: body, title, url, path, diff }: SnapshotView): string[] {
  const isUnchanged = body === "" && diff?.full === false;
  return [
    `${title || "(no title)"} — ${url}`,
    isUnchanged ? "(nothing changed)" : body,
    ...(path === undefined ? [] : [`Labels: ${path}`]),
  ];
}

function pathLine({ path }: { path: string }): string {
  return path;
}

function requestLines({ requests: all }: { requests: RequestView[] }): string[] {
  return all.map(({ method, status, failure, url }) => {
    const outcome = String(status ?? failure ?? "…");
    return `${method.padEnd(6)} ${outcome.padEnd(4)} ${url}`;
  });
}
