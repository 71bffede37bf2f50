import { appendFile, mkdir, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { HookHandler } from "portico";

const handler: HookHandler<"command:new" | "command:reset" | "command:stop"> = async (event, ctx) => {
  const file = join(ctx.paths.state, "logs", "commands.log");
  const { command, args, source } = event.context;
  const line = { time: event.timestamp.toISOString(), command, args, session: event.sessionKey, source };
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await moveWhenLarge(file, Number(ctx.config["maxBytes"] ?? 10_000_000));
  await appendFile(file, `${JSON.stringify(line)}\n`, { mode: 0o600 });
};

export default handler;

async function moveWhenLarge(file: string, maxBytes: number): Promise<void> {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  if (size > maxBytes) await rename(file, `${file}.1`);
}
