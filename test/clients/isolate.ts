/** Runs the programs in a network namespace that has only a loopback device, if the machine supports it. */
import { spawnSync } from "node:child_process";

const INSIDE = "PORTICO_CLIENTS_ISOLATED";
const BEGIN = 'ip link set lo up && exec "$@"';

/** True if this process runs in the namespace. */
export function isIsolated(): boolean {
  return process.env[INSIDE] !== undefined;
}

/** Runs this command again in its own network namespace. Returns its exit code, or `undefined` if that is impossible. */
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
