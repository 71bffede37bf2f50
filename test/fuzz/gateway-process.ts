/**
 * A gateway in a process of its own, which detects its stalls: turns of the event loop that compute for longer than 200 ms.
 * It measures processor time, so that waiting on a busy machine does not count.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { startGateway } from "../support/gateway.ts";

const STALL_MS = 200;
const config = JSON.parse(process.argv[2] ?? "{}") as Record<string, unknown>;
const gateway = await startGateway({ config });
const { gateway: inner } = gateway;
const stalls: { ms: number; after: unknown[] }[] = [];
const errors: unknown[] = [];
let cpu = process.cpuUsage();
let at = performance.now();
/** The longest turn since the last mark. */
let longestMs = 0;
let bytesAtMark = 0;
setInterval(() => {
  const usage = process.cpuUsage(cpu);
  const cpuMs = (usage.user + usage.system) / 1000;
  const gap = performance.now() - at;
  longestMs = Math.max(longestMs, Math.min(gap, cpuMs));
  if (gap > STALL_MS && cpuMs > STALL_MS) {
    const after = gateway.lines
      .slice(-8)
      .map(({ method, path, status, ms }) => [method, path, status, ms].join(" "));
    stalls.push({ ms: Math.round(Math.min(gap, cpuMs)), after });
  }
  // The harness keeps the log lines, so they must not count as the gateway's memory.
  if (gateway.lines.length > 1000) {
    errors.push(...gateway.lines.filter(({ msg }) => msg === "a request failed").slice(0, 20));
    gateway.lines.length = 0;
  }
  cpu = process.cpuUsage();
  at = performance.now();
}, 10);

const routes = inner.plugins.list().flatMap(({ effects }) =>
  effects.flatMap((effect) => {
    const [, method, path] = /^route (\w+) (\S+)$/.exec(effect) ?? [];
    return method && path ? [[method, path] as const] : [];
  }),
);
process.on("uncaughtException", (error) => {
  process.send?.({ crash: String(error.stack) });
  process.exit(1);
});
/** Starts a measurement, and has Linux reset the memory peak. */
function mark(): void {
  globalThis.gc?.();
  writeFileSync("/proc/self/clear_refs", "5");
  bytesAtMark = process.memoryUsage().rss;
  cpu = process.cpuUsage();
  at = performance.now();
  longestMs = 0;
}

function peakBytes(): number {
  const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return Number(peak) * 1024 - bytesAtMark;
}

process.on("message", async (command: "warm" | "report" | "stop" | "mark" | "measured") => {
  if (command === "mark") {
    mark();
    return void process.send?.({});
  }
  if (command === "measured") {
    // The timer notices the last stall at its next turn.
    await new Promise((resolve) => setTimeout(resolve, 30));
    return void process.send?.({ stallMs: longestMs, peakBytes: peakBytes() });
  }
  // Modules that load at first use (the browser's library, the sources) have been loaded.
  if (command === "warm") {
    stalls.length = 0;
    return;
  }
  if (command === "stop") {
    await gateway.stop();
    process.exit(0);
  }
  const state = inner.use("gateway");
  process.send?.({
    stalls,
    active: state.active(),
    channels: inner
      .use("channels")
      .list()
      .map(({ name, inFlight, queued }) => ({ name, inFlight, queued })),
    errors: errors.slice(0, 20),
    rssMb: Math.round(process.memoryUsage().rss / 1e6),
  });
});
process.send?.({
  url: gateway.url,
  token: gateway.token,
  servers: inner.servers.pool.urls(),
  routes,
});
