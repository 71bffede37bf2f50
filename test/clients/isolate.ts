/** Runs the programs where there is a loopback device and no other network, as far as the machine allows it. */
import { spawnSync } from "node:child_process";

const INSIDE = "PORTICO_CLIENTS_ISOLATED";
const BEGIN = 'ip link set lo up && exec "$@"';

/** Whether this process is the one that runs the programs, or has to be, since the machine has no namespaces. */
export function isIsolated(): boolean {
  return process.env[INSIDE] !== undefined;
}

/** Starts this command again in a network namespace of its own and gives its exit code; `undefined` where that fails. */
export function runIsolated(): number | undefined {
  const namespace = ["--map-root-user", "--net", "sh", "-c", BEGIN, "sh"];
  if (spawnSync("unshare", [...namespace, "true"]).status !== 0) return undefined;
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const { status } = spawnSync("unshare", [...namespace, ...command], {
    stdio: "inherit",
    env: { ...process.env, [INSIDE]: "1" },
  });
  return status ?? 1;
}
