import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { Command } from "portico/command-line";

const logs: Command = {
  name: "logs",
  summary: "The gateway's log lines",
  options: {
    follow: { type: "boolean", short: "f", description: "Go on printing lines as they come" },
    lines: { type: "number", short: "n", description: "How many of the last lines (default 100)" },
    level: {
      type: "string",
      description: "Only this level and above",
      choices: ["debug", "info", "warn", "error"],
    },
  },
  examples: ["portico logs", "portico logs --follow --level warn", "portico logs --json -n 1000"],
  async run(io) {
    const print = (entry: { level: string }) => {
      const line = JSON.stringify(entry);
      if (io.json) io.print(line);
      else io.printLog(line);
    };
    const {
      lines = 100,
      level,
      follow,
    } = io.options as { lines?: number; level?: string; follow?: boolean };
    const query = { lines, level, follow };
    if (!follow) {
      const found = await io.gateway.request<{ lines: { level: string }[] }>(
        "GET",
        "/kernel/logs",
        undefined,
        {
          query,
        },
      );
      for (const entry of found.lines) print(entry);
      return;
    }
    const bytes = await io.gateway.stream("GET", "/kernel/logs", undefined, { query });
    // Each event is one line of JSON.
    for await (const line of createInterface({ input: Readable.from(bytes) }))
      if (line.startsWith("data:")) print(JSON.parse(line.slice("data:".length)));
  },
};
export default logs;
