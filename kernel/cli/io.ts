/** What a command prints with. */
import type { CommandIO, GatewayClient } from "./types.ts";
import type { Parsed } from "./parse.ts";

export interface IoOptions {
  parsed: Parsed;
  gateway: GatewayClient;
  signal: AbortSignal;
  cwd: string;
  env: Record<string, string | undefined>;
  stdout: { write(text: string): unknown; isTTY?: boolean };
  stderr: { write(text: string): unknown; isTTY?: boolean };
}

export function createIo(options: IoOptions): CommandIO {
  const { stdout, stderr } = options;
  const json = options.parsed.options["json"] === true;
  let moving = false;

  function clearProgress(): void {
    if (moving) stderr.write("\r\u001b[2K");
    moving = false;
  }

  function print(line = ""): void {
    clearProgress();
    stdout.write(`${line}\n`);
  }

  const io: CommandIO = {
    args: options.parsed.args,
    options: options.parsed.options,
    json,
    gateway: options.gateway,
    signal: options.signal,
    cwd: options.cwd,
    env: options.env,
    print,
    show(value, human) {
      if (json) return print(JSON.stringify(value, null, 2));
      const shown = human(value);
      for (const line of typeof shown === "string" ? [shown] : shown) print(line);
    },
    table,
    progress(text) {
      if (json) return;
      if (!stderr.isTTY) return void stderr.write(`${text}\n`);
      stderr.write(`\r\u001b[2K${text}`);
      moving = text !== "";
    },
    serve: async (part) => (await import("../serve.ts")).serve(io, part),
  };
  return io;
}

function table(head: readonly string[], rows: readonly (readonly (string | number | undefined)[])[]): string[] {
  const cells = [head, ...rows].map((row) => row.map((cell) => String(cell ?? "")));
  const widths = head.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
