/** `portico sessions`. */
import { defineCommand } from "portico/command-line";

interface Shown {
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

export default defineCommand({
  name: "sessions",
  summary: "The agent's sessions and what was said in them",
  commands: [
    {
      name: "list",
      summary: "Sessions, last used first",
      options: {
        limit: { type: "number", value: "N", description: "At most this many; default: 50" },
      },
      async run(io) {
        const answer = await io.gateway.request<{ sessions: Shown[] }>(
          "GET",
          "/sessions",
          undefined,
          {
            query: { limit: io.options["limit"] as number | undefined },
          },
        );
        io.show(answer, ({ sessions }) =>
          io.table(
            ["SESSION", "MESSAGES", "LAST USED", "SOURCE"],
            sessions.map((each) => [each.id, each.messageCount, each.updatedAt, each.source]),
          ),
        );
      },
    },
    {
      name: "show",
      summary: "Everything that was said in a session, tool calls included",
      args: [{ name: "session" }],
      options: { last: { type: "number", value: "N", description: "Only the newest N messages" } },
      async run(io) {
        const path = `/sessions/${encodeURIComponent(io.args["session"] ?? "")}`;
        const answer = await io.gateway.request<{ messages: Message[] }>("GET", path, undefined, {
          query: { last: io.options["last"] as number | undefined },
        });
        io.show(answer, ({ messages }) => messages.flatMap(describe));
      },
    },
    {
      name: "rm",
      summary: "Remove a session and its transcript",
      args: [{ name: "session" }],
      async run(io) {
        const path = `/sessions/${encodeURIComponent(io.args["session"] ?? "")}`;
        io.show(await io.gateway.request("DELETE", path), () => `Removed ${io.args["session"]}.`);
      },
    },
  ],
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
