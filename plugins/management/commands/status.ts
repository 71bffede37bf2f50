/** `portico status`. */
import { commandFor } from "portico/command-line";
import { gatewayRoutes } from "../routes/routes-schema.ts";

interface Status {
  version: string;
  pid: number;
  uptimeMs: number;
  url: string;
  home: string;
  servers: Record<string, string>;
  memory: { rssBytes: number };
  connections: { open: number; limit: number; refused: number; displaced: number };
  config: { file: string; problem?: { message: string; line?: number } };
  notReady: { name: string; error: string }[];
  plugins: { name: string; state: string; error?: string }[];
  hooks: { name: string; state: string; error?: string }[];
  notices: { from: string; text: string }[];
  workers?: {
    count: number;
    running: {
      worker: number;
      pid: number;
      uptimeMs: number;
      rssBytes: number;
      requests: number;
    }[];
  };
}

export default commandFor<Status>("GET /kernel/status", gatewayRoutes.status, {
  name: "status",
  summary: "Show what is running, and what is wrong",
  examples: ["portico status", "portico status --json"],
  view: describe,
});

function describe(status: Status): string[] {
  const { problem } = status.config;
  const lines = [
    `Portico ${status.version} at ${status.url} (pid ${status.pid}), up ${formatDuration(status.uptimeMs)}, ${Math.round(status.memory.rssBytes / 1e6)} MB`,
    `Home           ${status.home}`,
    `Configuration  ${status.config.file}`,
  ];
  for (const [name, url] of Object.entries(status.servers))
    lines.push(`${name.padEnd(13)}  ${url}`);
  lines.push(`Connections    ${describeConnections(status.connections)}`);
  if (status.workers) lines.push(...describeWorkers(status.workers));
  lines.push(
    `Plugins        ${countStates(status.plugins)}`,
    `Hooks          ${countStates(status.hooks)}`,
  );
  if (problem) {
    const at = problem.line ? ` (line ${problem.line})` : "";
    lines.push("", `The changed configuration is not active${at}: ${problem.message}`);
  }
  const failing = [...status.plugins, ...status.hooks].filter(
    ({ state, error }) => error && state !== "disabled",
  );
  if (failing.length)
    lines.push("", ...failing.map(({ name, state, error }) => `${name}: ${state}: ${error}`));
  if (status.notices.length)
    lines.push("", ...status.notices.map(({ from, text }) => `${from}: ${text}`));
  return lines;
}

function describeConnections({ open, limit, refused, displaced }: Status["connections"]): string {
  const losses = [
    refused > 0 ? `, ${refused} refused` : "",
    displaced > 0 ? `, ${displaced} idle connections closed to make room` : "",
  ];
  return `${open} of ${limit}${losses.join("")}`;
}

function describeWorkers({ count, running }: NonNullable<Status["workers"]>): string[] {
  const workerLines = running.map(
    ({ worker, pid, uptimeMs, rssBytes, requests }) =>
      `  ${worker}: pid ${pid}, up ${formatDuration(uptimeMs)}, ${Math.round(rssBytes / 1e6)} MB, ${requests} requests`,
  );
  return [`Workers        ${running.length} of ${count}`, ...workerLines];
}

function countStates(records: readonly { state: string }[]): string {
  const counts = new Map<string, number>();
  for (const { state } of records) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ") || "none";
}

function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
