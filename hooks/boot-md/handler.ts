import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { HookHandler } from "portico";

const handler: HookHandler<"gateway:startup"> = async (_event, ctx) => {
  const text = await readFile(join(ctx.paths.workspace, "BOOT.md"), "utf8").catch(() => "");
  if (text.trim() === "") return;
  const model = typeof ctx.config["model"] === "string" ? ctx.config["model"] : "agent";
  const content = `The gateway has just started. Do what the workspace's BOOT.md says:\n\n${text.trim()}`;
  const answer = await ctx.chat({ model, messages: [{ role: "user", content }] });
  ctx.log.info({ model, answer: answer.slice(0, 500) }, "the agent has done what BOOT.md says");
};

export default handler;
