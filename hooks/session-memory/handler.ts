import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HookHandler } from "portico";

interface Message {
  role: string;
  content: string;
}

const handler: HookHandler<"command:new" | "command:reset"> = async (event, ctx) => {
  const { previousSession, workspace, source } = event.context;
  const count = Number(ctx.config["messages"] ?? 15);
  const messages = (previousSession?.messages ?? [])
    .filter(
      ({ role, content }) => (role === "user" || role === "assistant") && content.trim() !== "",
    )
    .slice(-count);
  if (messages.length === 0) return;
  const dir = join(workspace || ctx.paths.workspace, "memory");
  await mkdir(dir, { recursive: true });
  const head = [
    `# Session ${event.sessionKey}`,
    "",
    `Ended ${event.timestamp.toISOString()} (${source}).`,
  ];
  const file = await writeNew(
    dir,
    nameOf(event.timestamp, messages),
    `${[...head, ...messages.map(paragraph)].join("\n")}\n`,
  );
  ctx.log.info({ file, messages: messages.length }, "session saved");
};

export default handler;

function paragraph({ role, content }: Message): string {
  return `\n**${role}**: ${content.trim()}`;
}

/** Returns a name such as `2026-01-31-plan-the-trip`: the day, and the first words of the user. */
function nameOf(at: Date, messages: readonly Message[]): string {
  const first = messages.find((message) => message.role === "user")?.content ?? "session";
  const words = first
    .normalize("NFKD")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  const slug = (words ?? ["session"]).slice(0, 5).join("-").slice(0, 40);
  return `${at.toISOString().slice(0, 10)}-${slug}`;
}

/** Writes a new file. Never overwrites that of another session of the day. */
async function writeNew(dir: string, name: string, text: string): Promise<string> {
  for (let copy = 1; ; copy++) {
    const file = join(dir, copy === 1 ? `${name}.md` : `${name}-${copy}.md`);
    try {
      await writeFile(file, text, { flag: "wx" });
      return file;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || copy > 1000) throw error;
    }
  }
}
