/** Opens the plugin's sandboxes at first use, and ends each one when its session ends. */
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { PluginContext } from "portico";
import type { Sandboxes, SandboxesOptions } from "./sandboxes.ts";

const SANDBOX_DIR = "browser-sandboxes";

interface OpenSandboxes {
  /** Opens the sandboxes at first use, after the leftovers of an earlier run have been removed. */
  get(): Promise<Sandboxes>;
  /** Returns the sandboxes, or `undefined` before their first use. */
  current(): Promise<Sandboxes> | undefined;
}

export function openSandboxes(
  ctx: PluginContext,
  options: Omit<SandboxesOptions, "dir" | "gateway" | "paths" | "log">,
): OpenSandboxes {
  let sandboxes: Promise<Sandboxes> | undefined;
  const dir = join(ctx.paths.state, SANDBOX_DIR);
  const removal = existsSync(dir) ? removeLeftovers(dir) : Promise.resolve();
  const cleanup = removal.catch((error: unknown) =>
    ctx.log.warn(
      { err: error },
      "sandboxes that an earlier run of the gateway left could not be removed",
    ),
  );
  const end = async (sessionKey: string): Promise<void> => (await sandboxes)?.end(sessionKey);
  // A session for a single turn ends with it. Other sessions end when they are reset or deleted, and their sandboxes
  // also after a time without use.
  const onTurn = (turn: {
    source: string;
    turnId: string;
    sessionId: string;
    willRetry?: boolean;
  }): void => {
    if (turn.sessionId === `${turn.source}:${turn.turnId}` && !turn.willRetry)
      void end(turn.sessionId);
  };
  ctx.on("agent:completed", ({ context }) => onTurn(context));
  ctx.on("agent:failed", ({ context }) => onTurn(context));
  for (const event of ["command:new", "command:reset"] as const) {
    ctx.on(event, ({ context }) => void end(context.sessionKey));
  }
  ctx.on("session:deleted", ({ context }) => void end(context.sessionId));
  ctx.defer(async () => (await sandboxes)?.close());
  return {
    current: () => sandboxes,
    get: () =>
      (sandboxes ??= Promise.all([
        import("./sandboxes.ts"),
        import("../drivers/process-record.ts"),
        cleanup,
      ]).then(
        async ([{ Sandboxes }, { getGatewayName: gatewayName }]) =>
          new Sandboxes({
            ...options,
            dir,
            gateway: await gatewayName(),
            paths: ctx.paths,
            log: ctx.log,
          }),
      )),
  };
}

/** Removes the directories of gateways that were killed; their browsers ended with them. */
async function removeLeftovers(dir: string): Promise<void> {
  const { isRunningGateway } = await import("../drivers/process-record.ts");
  for (const name of await readdir(dir)) {
    const [gateway = ""] = name.split("-");
    if (!(await isRunningGateway(gateway)))
      await rm(join(dir, name), { recursive: true, force: true });
  }
}
