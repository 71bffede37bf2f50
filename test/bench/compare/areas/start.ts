/** The costs of a start, of an idle gateway, and of a command that calls it. */
import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDir } from "../../../support/temporary.ts";
import {
  type BuiltGateway,
  end,
  freePort,
  waitUntilHealthy,
  commandLineOf,
} from "../../harness/built.ts";
import { cpuMicros, residentMegabytes } from "../../harness/measure.ts";
import type { GatewayArea, Reading } from "../area.ts";

const channel = (n: number) => [
  `c${n}`,
  { provider: "openai", baseUrl: `http://127.0.0.1:9/${n}`, apiKey: "k" },
];
const channels = Object.fromEntries(Array.from({ length: 10 }, (_, n) => channel(n)));

/** Starts a gateway in this home, and measures the time until it is healthy. */
export async function startIn(home: string, dir: string): Promise<{ ms: number; cpuMs: number }> {
  const port = await freePort();
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [commandLineOf(dir), "start", "--home", home, "--port", port],
    {
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  await waitUntilHealthy(`http://127.0.0.1:${port}/health`, child);
  const ms = performance.now() - began;
  const cpuMs = cpuMicros(child.pid!) / 1000;
  await end(child);
  return { ms, cpuMs };
}

function status({ home, dir }: BuiltGateway): { ms: number; cpuMs: number } {
  const script = 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null';
  const command = [process.execPath, commandLineOf(dir), "status", "--home", home];
  const { stderr } = spawnSync("bash", ["-c", script, "bash", ...command], { encoding: "utf8" });
  const [real = 0, user = 0, system = 0] = stderr.trim().split(" ").map(Number);
  return { ms: real * 1000, cpuMs: (user + system) * 1000 };
}

/** Measures starts and commands. `gateway` is the idle gateway. */
function beginStarts(gateway: BuiltGateway): () => Promise<Reading> {
  const home = temporaryDir("portico-bench-");
  writeFileSync(join(home, "portico.json"), JSON.stringify({ channels }), { mode: 0o600 });
  return async () => {
    const start = await startIn(home, gateway.dir);
    const megabytes = residentMegabytes(gateway.process.pid!);
    const command = status(gateway);
    return {
      "start, ms": start.ms,
      "start, CPU ms": start.cpuMs,
      "portico status, ms": command.ms,
      "the same, CPU ms": command.cpuMs,
      "idle, MB": megabytes,
    };
  };
}

export const startArea: GatewayArea = {
  name: "start",
  what: "starts with ten channels, commands, an idle gateway",
  config: () => ({ channels }),
  begin: beginStarts,
  rounds: 30,
};
