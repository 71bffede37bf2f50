/** The sandboxes as the plugin has them: opened at the first use, ended with what ends a session. */
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { PluginContext } from "portico";
import type { Sandboxes, SandboxesOptions } from "./sandboxes.ts";

const SANDBOX_DIR = "browser-sandboxes";

interface OpenSandboxes {
  /** Opens them at the first use; what an earlier run left behind is removed first. */
  get(): Promise<Sandboxes>;
  /** Undefined until they have been used. */
  opened(): Promise<Sandboxes> | undefined;
}

export function openSandboxes(
  ctx: PluginContext,
  options: Omit<SandboxesOptions, "dir" | "gateway" | "paths" | "log">,
): OpenSandboxes {
  let opened: Promise<Sandboxes> | undefined;
  const dir = join(ctx.paths.state, SANDBOX_DIR);
  const left = existsSync(dir) ? removeLeft(dir) : Promise.resolve();
  const cleared = left.catch((error: unknown) =>
    ctx.log.warn({ err: error }, "sandboxes of an earlier run could not be removed"),
  );
  const end = async (sessionKey: string): Promise<void> => (await opened)?.end(sessionKey);
  // A session that exists for one turn only ends with it; the others are reset, are deleted, or are not used.
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
  ctx.defer(async () => (await opened)?.close());
  return {
    opened: () => opened,
    get: () =>
      (opened ??= Promise.all([
        import("./sandboxes.ts"),
        import("../drivers/process-record.ts"),
        cleared,
      ]).then(
        async ([{ Sandboxes }, { gatewayName }]) =>
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

/** Those of a run that was killed; its browsers ended with it. */
async function removeLeft(dir: string): Promise<void> {
  const { isRunningGateway } = await import("../drivers/process-record.ts");
  for (const name of await readdir(dir)) {
    const [gateway = ""] = name.split("-");
    if (!(await isRunningGateway(gateway)))
      await rm(join(dir, name), { recursive: true, force: true });
  }
}
