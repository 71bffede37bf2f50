/** `portico sessions`. */
import { commandFor, defineCommand } from "portico/command-line";
import { agentRoutes } from "../routes/routes-schema.ts";

interface SessionSummary {
  id: string;
  updatedAt: string;
  messageCount: number;
  source?: string;
}
interface Message {
  at: string;
  role: string;
  content?: string | { type: string; text?: string }[] | null;
  tool_calls?: { function?: { name?: string; arguments?: string } }[];
}

const session = { name: "session" };

const list = commandFor<{ sessions: SessionSummary[] }>("GET /sessions", agentRoutes.sessions, {
  name: "list",
  summary: "List the sessions, most recently used first",
  view: ({ sessions }, io) =>
    io.table(
      ["SESSION", "MESSAGES", "LAST USED", "SOURCE"],
      sessions.map(({ id, messageCount, updatedAt, source }) => [
        id,
        messageCount,
        updatedAt,
        source,
      ]),
    ),
});

const show = commandFor<{ messages: Message[] }>("GET /sessions/:id", agentRoutes.session, {
  name: "show",
  summary: "Print the messages of a session, including tool calls",
  args: [session],
  options: { last: { description: "Show only the newest N messages" } },
  view: ({ messages }) => messages.flatMap(describe),
});

const remove = commandFor("DELETE /sessions/:id", agentRoutes.deleteSession, {
  name: "rm",
  summary: "Remove a session and its transcript",
  args: [session],
  view: (_, { args }) => `Removed ${args["session"]}.`,
});

export default defineCommand({
  name: "sessions",
  summary: "List, show and remove the agent's sessions",
  commands: [list, show, remove],
});

function describe(message: Message): string[] {
  const text =
    typeof message.content === "string"
      ? message.content
      : (message.content ?? []).map((part) => part.text ?? `[${part.type}]`).join("");
  const calls = (message.tool_calls ?? []).map(
    (call) => `→ ${call.function?.name}(${call.function?.arguments})`,
  );
  return [`── ${message.role}  ${message.at}`, ...(text === "" ? [] : [text]), ...calls, ""];
}
