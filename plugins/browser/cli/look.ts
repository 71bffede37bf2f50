/** `portico browser`: snapshots, pictures, what a page said and loaded. */
import type { Command } from "portico/command-line";
import { command, flag, number, TAB, text } from "./command.ts";

const CLEAR = flag("Forget them afterwards");
const path = ({ path: file }: { path: string }): string => file;

interface SnapshotView {
  snapshot: string;
  title: string;
  url: string;
  path?: string;
  diff?: { full: boolean };
}

function snapshotLines({ snapshot, title, url, path: picture, diff }: SnapshotView): string[] {
  const body = snapshot === "" && diff?.full === false ? "(nothing changed)" : snapshot;
  return [
    `${title || "(no title)"} — ${url}`,
    body,
    ...(picture === undefined ? [] : [`Labels: ${picture}`]),
  ];
}

export const lookCommands: Command[] = [
  command({
    name: "snapshot",
    summary: "The page as text with refs",
    options: {
      ...TAB,
      format: {
        type: "string",
        choices: ["ai", "aria"],
        description: "ai (default): with refs; aria: the bare accessibility tree",
      },
      mode: {
        type: "string",
        choices: ["efficient", "full"],
        description: "efficient: interactive, compact, not deep, short",
      },
      efficient: flag("The same as --mode efficient"),
      interactive: flag("A flat list of the elements that can be acted on"),
      compact: flag("Without nodes that only group"),
      depth: number("Only so many levels"),
      selector: text("Only below the first element that fits", "CSS"),
      frame: text("Only this iframe: its ref, or a CSS selector", "FRAME"),
      labels: flag("Also a screenshot with the refs drawn on it"),
      limit: number("At most so many nodes"),
      "max-chars": number("At most so many characters"),
      diff: flag("Only what changed since the last one"),
    },
    request: ({ options }) => {
      const { format, interactive, compact, depth, selector, frame, labels, limit, diff } =
        options as Record<string, never>;
      const mode = options["efficient"] ? "efficient" : (options["mode"] ?? "default");
      return {
        method: "GET",
        path: "/snapshot",
        query: {
          mode: mode as string,
          format,
          interactive,
          compact,
          depth,
          selector,
          frame,
          labels,
          limit,
          diff,
          maxChars: options["max-chars"] as number,
        },
      };
    },
    human: snapshotLines,
  }),
  command({
    name: "screenshot",
    summary: "A picture of the page or of an element",
    options: {
      ...TAB,
      "full-page": flag("All of it, not only what is in view"),
      ref: text("Only this element", "REF"),
      type: { type: "string", choices: ["png", "jpeg"], description: "Default png" },
      quality: number("Of a jpeg, 0 to 100"),
    },
    request: ({ options }) => ({
      method: "POST",
      path: "/screenshot",
      body: {
        fullPage: options["full-page"],
        ref: options["ref"],
        type: options["type"],
        quality: options["quality"],
      },
    }),
    human: path,
  }),
  command({
    name: "pdf",
    summary: "The page as a PDF",
    options: {
      ...TAB,
      format: text("Paper: A4 (default), Letter, …", "PAPER"),
      landscape: flag("Landscape"),
    },
    request: ({ options }) => ({
      method: "POST",
      path: "/pdf",
      body: { format: options["format"], landscape: options["landscape"] },
    }),
    human: path,
  }),
  command({
    name: "highlight",
    summary: "Draw a box around an element for a few seconds",
    args: [{ name: "ref" }],
    options: TAB,
    request: ({ args }) => ({ method: "POST", path: "/highlight", body: { ref: args["ref"] } }),
  }),
  command({
    name: "console",
    summary: "What the page wrote to its console",
    options: {
      ...TAB,
      level: {
        type: "string",
        choices: ["debug", "info", "warning", "error"],
        description: "Only this level and above",
      },
      clear: CLEAR,
    },
    request: ({ options }) => ({
      method: "GET",
      path: "/console",
      query: { level: options["level"] as string, clear: options["clear"] as boolean },
    }),
    human: ({ messages }: { messages: { level: string; text: string }[] }) =>
      messages.map((one) => `${one.level.padEnd(7)}  ${one.text}`),
  }),
  command({
    name: "errors",
    summary: "Errors that the page threw",
    options: { ...TAB, clear: CLEAR },
    request: ({ options }) => ({
      method: "GET",
      path: "/errors",
      query: { clear: options["clear"] as boolean },
    }),
    human: ({ errors }: { errors: { name: string; message: string }[] }) =>
      errors.map((one) => `${one.name}: ${one.message}`),
  }),
  command({
    name: "requests",
    summary: "What the page loaded",
    options: {
      ...TAB,
      filter: text("Only addresses that hold this, or fit it with *"),
      clear: CLEAR,
    },
    request: ({ options }) => ({
      method: "GET",
      path: "/requests",
      query: { filter: options["filter"] as string, clear: options["clear"] as boolean },
    }),
    human: ({
      requests,
    }: {
      requests: { method: string; status: number | null; failure: string | null; url: string }[];
    }) =>
      requests.map(
        (one) =>
          `${one.method.padEnd(6)} ${String(one.status ?? one.failure ?? "…").padEnd(4)} ${one.url}`,
      ),
  }),
  command({
    name: "responsebody",
    summary: "The body of a response",
    args: [{ name: "address", description: "All of it, a part of it, or a pattern with *" }],
    options: {
      ...TAB,
      "max-chars": number("At most so many characters"),
      next: flag("Wait for a new one"),
    },
    request: ({ args, options }) => ({
      method: "POST",
      path: "/response/body",
      body: { url: args["address"], maxChars: options["max-chars"], next: options["next"] },
    }),
    human: ({ response }: { response: { body: string } }) => response.body,
  }),
  {
    name: "trace",
    summary: "Record what happens, for the trace viewer",
    commands: [
      command({
        name: "start",
        summary: "Begin",
        options: {
          screenshots: flag("With pictures (default; --no-screenshots)"),
          snapshots: flag("With page snapshots (default; --no-snapshots)"),
          sources: flag("With sources"),
        },
        request: ({ options }) => ({
          method: "POST",
          path: "/trace/start",
          body: {
            screenshots: options["screenshots"],
            snapshots: options["snapshots"],
            sources: options["sources"],
          },
        }),
      }),
      command({
        name: "stop",
        summary: "End, and write the file",
        options: { path: text("Its name under the temporary root", "FILE") },
        request: ({ options }) => ({
          method: "POST",
          path: "/trace/stop",
          body: { path: options["path"] },
        }),
        human: path,
      }),
    ],
  },
];
