/**
 * `portico logs`. It is not derived from its route, because `--follow` reads a stream and `--json` prints each entry as one
 * line of JSON.
 */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { Command, CommandIO } from "portico/command-line";

interface LogEntry {
  level: string;
}

const DEFAULT_LINES = 100;

const logs: Command = {
  name: "logs",
  summary: "Show the log lines of the gateway",
  options: {
    follow: { type: "boolean", short: "f", description: "Keep printing lines as they arrive" },
    lines: {
      type: "number",
      short: "n",
      description: "The number of lines, newest last (default: 100)",
    },
    level: {
      type: "string",
      description: "Show only lines of this level and above",
      choices: ["debug", "info", "warn", "error"],
    },
  },
  examples: ["portico logs", "portico logs --follow --level warn", "portico logs --json -n 1000"],
  run: (io) => (io.options["follow"] === true ? follow(io) : printLast(io)),
};
export default logs;

async function printLast(io: CommandIO): Promise<void> {
  const { lines } = await io.gateway.request<{ lines: LogEntry[] }>(
    "GET",
    "/kernel/logs",
    undefined,
    { query: queryOf(io) },
  );
  for (const entry of lines) print(io, entry);
}

/** Prints log lines as they arrive. Each event of the stream holds one line of JSON. */
async function follow(io: CommandIO): Promise<void> {
  const query = { ...queryOf(io), follow: true };
  const bytes = await io.gateway.stream("GET", "/kernel/logs", undefined, { query });
  for await (const line of createInterface({ input: Readable.from(bytes) }))
    if (line.startsWith("data:")) print(io, JSON.parse(line.slice("data:".length)));
}

function queryOf({ options }: CommandIO): { lines: number; level: string | undefined } {
  const { lines = DEFAULT_LINES, level } = options as { lines?: number; level?: string };
  return { lines, level };
}

function print(io: CommandIO, entry: LogEntry): void {
  const line = JSON.stringify(entry);
  if (io.json) io.print(line);
  else io.printLog(line);
}
