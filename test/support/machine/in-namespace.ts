/** Runs a test file again as root in its own namespaces, for operations that need root but must not affect the machine. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as assert from "uvu/assert";
import { program } from "../runner/bundle.ts";

const INSIDE = "PORTICO_TEST_IN_NAMESPACE";

/** True if `runInNamespace` started this process. */
export const isInNamespace = process.env[INSIDE] !== undefined;

/**
 * The shell command that brings up the loopback interface of a new network. It disables IPv6, whose addresses become active
 * a second or two later: a browser would see that as a change of the network and abort its requests.
 */
export const START_NETWORK =
  'for each in all default; do echo 1 > "/proc/sys/net/ipv6/conf/$each/disable_ipv6"; done 2>/dev/null; ip link set lo up';

export interface NamespaceOptions {
  /**
   * The namespaces for `unshare`, besides those that make a user root: `n` for network (with its loopback up), `m` for
   * mounts.
   */
  kinds: string;
  /** The message if even root of a namespace lacks the permission. */
  needs: string;
  /** A shell command to run first. */
  setUp?: string;
}

/** Runs a test file in namespaces. Fails with its output if it fails or if no namespace can be created. */
export async function runInNamespace(
  file: string,
  { kinds, needs, setUp }: NamespaceOptions,
): Promise<void> {
  assert.not(isInNamespace, needs);
  const command = [process.execPath, ...program(file)];
  const user = process.getuid?.() === 0 ? "" : "Ur";
  const steps = [setUp, kinds.includes("n") && `{ ${START_NETWORK}; }`, 'exec "$@"']
    .filter(Boolean)
    .join(" && ");
  const child = spawn("unshare", [`-${user}${kinds}`, "sh", "-c", steps, "sh", ...command], {
    env: { ...process.env, [INSIDE]: "1" },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text) => {
      output += text;
    });
  // Shorter than the runner's limit for this file, so that the output is not lost.
  const timeout = setTimeout(() => child.kill("SIGKILL"), 540_000);
  const [code, signal] = await once(child, "close");
  clearTimeout(timeout);
  assert.is(
    code ?? signal,
    0,
    `in a namespace of its own (for root, or where users may make one):\n${output}`,
  );
}
