/** What a command gets. */
import type { PathOptions } from "../kernel/files/paths.ts";
import { openHome } from "./home.ts";
import type { Parsed } from "./parse.ts";
import type { Terminal } from "./terminal.ts";
import type { CommandIO, GatewayClient } from "../kernel/contract/commands.ts";

export interface IoOptions {
  parsed: Parsed;
  gateway: GatewayClient;
  signal: AbortSignal;
  cwd: string;
  env: Record<string, string | undefined>;
  terminal: Terminal;
}

export function createIo({ parsed, terminal, ...given }: IoOptions): CommandIO {
  const json = parsed.options["json"] === true;
  const io: CommandIO = {
    ...given,
    ...parsed,
    json,
    print: terminal.print,
    show(value, human) {
      if (json) return terminal.print(JSON.stringify(value, null, 2));
      for (const line of [human(value)].flat()) terminal.print(line);
    },
    table,
    progress(text) {
      if (!json) terminal.progress(text);
    },
    home() {
      const { home, config, workspace } = parsed.options as PathOptions;
      // A command may have a flag --workspace of its own.
      return openHome({ home, config, workspace: typeof workspace === "string" ? workspace : undefined }, given.env);
    },
    serve: async (part) => (await import("./serve.ts")).serve(io, part),
  };
  return io;
}

function table(head: readonly string[], rows: readonly (readonly (string | number | undefined)[])[]): string[] {
  const cells = [head, ...rows].map((row) => row.map((cell) => String(cell ?? "").replace(/\s+/g, " ")));
  const widths = head.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
