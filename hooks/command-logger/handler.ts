import { renameSync, statSync } from "node:fs";
import { appendFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { HookHandler } from "portico";

const handler: HookHandler<"command:new" | "command:reset" | "command:stop"> = async (
  event,
  ctx,
) => {
  const file = join(ctx.paths.state, "logs", "commands.log");
  const { command, args, source } = event.context;
  const line = {
    time: event.timestamp.toISOString(),
    command,
    args,
    session: event.sessionKey,
    source,
  };
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  moveWhenLarge(file, Number(ctx.config["maxBytes"] ?? 10_000_000));
  await appendFile(file, `${JSON.stringify(line)}\n`, { mode: 0o600 });
};

export default handler;

/**
 * Moves the file synchronously: otherwise the second of two commands could move the file that the first has just begun.
 */
function moveWhenLarge(file: string, maxBytes: number): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= maxBytes) return;
  try {
    renameSync(file, `${file}.1`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error; // another process has moved it already
  }
}
