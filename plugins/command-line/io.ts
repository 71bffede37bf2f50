/** Creates the `CommandIO` that a command receives. */
import type { HomeOptions, Program } from "portico";
import type { GatewayClient } from "./client.ts";
import type { CommandIO } from "./command.ts";
import { formatLogLine } from "./log-line.ts";
import type { Parsed } from "./parse.ts";
import type { Terminal } from "./terminal.ts";

interface IoOptions {
  program: Program;
  parsed: Parsed;
  gateway: GatewayClient;
  terminal: Terminal;
}

export function createIo({ program, parsed, gateway, terminal }: IoOptions): CommandIO {
  const { signal, cwd, env } = program;
  const json = parsed.options["json"] === true;
  const io: CommandIO = {
    ...parsed,
    gateway,
    signal,
    cwd,
    env,
    json,
    print: terminal.print,
    printLog: (line) => terminal.print(...formatLogLine(line)),
    show(value, human) {
      if (json) return terminal.print(JSON.stringify(value, null, 2));
      for (const line of [human(value)].flat()) terminal.print(line);
    },
    table,
    progress(text) {
      if (!json) terminal.progress(text);
    },
    home: () => program.home(homeOptions(parsed)),
    serve: async (part) =>
      (await import("./start/serve.ts")).serve(program, io, homeOptions(parsed), part),
  };
  return io;
}

/**
 * Returns the home that the options select. `--workspace` counts only as a string, because a command may have a flag of
 * that name.
 */
export function homeOptions({ options }: Parsed): HomeOptions {
  const { home, config, workspace } = options as HomeOptions;
  return { home, config, workspace: typeof workspace === "string" ? workspace : undefined };
}

function table(
  head: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string[] {
  const cells = [head, ...rows].map((row) =>
    row.map((cell) => String(cell ?? "").replace(/\s+/g, " ")),
  );
  const widths = head.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
