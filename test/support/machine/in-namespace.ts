/** A test file once more, as root of namespaces of its own: for what a plain user may not do to the machine itself. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as assert from "uvu/assert";
import { program } from "../runner/bundle.ts";

const INSIDE = "PORTICO_TEST_IN_NAMESPACE";

/** Whether this process was started by `runInside`. */
export const isInside = process.env[INSIDE] !== undefined;

/**
 * Shell command that brings up a new network's loopback. Without IPv6, whose addresses come into force a second or two
 * after their link is up: a browser takes that for a change of the network, and breaks off what it is loading.
 */
export const START_NETWORK =
  'for each in all default; do echo 1 > "/proc/sys/net/ipv6/conf/$each/disable_ipv6"; done 2>/dev/null; ip link set lo up';

export interface NamespaceOptions {
  /** Of `unshare`, beside those that make a user root: `n` a network (with its loopback up), `m` mounts. */
  kinds: string;
  /** What to tell where even root of a namespace cannot do it. */
  needs: string;
  /** Shell command that comes first. */
  setUp?: string;
}

/** Runs it, and fails with its output where it fails, or where no namespace can be made. */
export async function runInside(
  file: string,
  { kinds, needs, setUp }: NamespaceOptions,
): Promise<void> {
  assert.not(isInside, needs);
  const again = [process.execPath, ...program(file)];
  const user = process.getuid?.() === 0 ? "" : "Ur";
  const steps = [setUp, kinds.includes("n") && `{ ${START_NETWORK}; }`, 'exec "$@"']
    .filter(Boolean)
    .join(" && ");
  const child = spawn("unshare", [`-${user}${kinds}`, "sh", "-c", steps, "sh", ...again], {
    env: { ...process.env, [INSIDE]: "1" },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text) => {
      output += text;
    });
  // Before the runner ends this file, and what it said with it.
  const late = setTimeout(() => child.kill("SIGKILL"), 540_000);
  const [code, signal] = await once(child, "close");
  clearTimeout(late);
  assert.is(
    code ?? signal,
    0,
    `in a namespace of its own (for root, or where users may make one):\n${output}`,
  );
}
