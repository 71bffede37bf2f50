/** The events that the agent declares. */
import type { PluginDefinition } from "portico";
import type { CommandContext } from "portico/agent";

const usage = { prompt_tokens: 120, completion_tokens: 30, total_tokens: 150 };
const turn = { turnId: "turn_5f0c", sessionId: "main", agentId: "main", source: "cli" };

export const events: PluginDefinition["events"] = {
  "agent:bootstrap": {
    mode: "change",
    description:
      "A turn begins. Hooks can change the workspace files in its prompt, and the system prompt.",
    changes: ["bootstrapFiles", "systemPrompt"],
    sample: {
      bootstrapFiles: [
        {
          name: "AGENTS.md",
          path: "/home/me/.portico/workspace/AGENTS.md",
          content: "# Rules\n\nBe brief.",
          missing: false,
        },
        {
          name: "MEMORY.md",
          path: "/home/me/.portico/workspace/MEMORY.md",
          content: "",
          missing: true,
        },
      ],
      systemPrompt: "You are the agent of a Portico gateway.",
      workspace: "/home/me/.portico/workspace",
      agentId: "main",
      source: "cli",
      turnId: "turn_5f0c",
    },
  },
  "agent:completed": {
    mode: "notify",
    description: "A turn has ended with a response.",
    sample: { ...turn, content: "Done.", model: "echo", steps: 2, attempts: 1, usage, ms: 840 },
  },
  "agent:failed": {
    mode: "notify",
    description:
      "An attempt at a turn has failed; `willRetry` says whether the gateway will try again.",
    sample: {
      ...turn,
      error: { code: "upstream_timeout", message: "The upstream was too slow." },
      attempts: 1,
      willRetry: true,
    },
  },
  "agent:tool": {
    mode: "notify",
    description: "A tool was called in a turn.",
    sample: { turnId: turn.turnId, sessionId: turn.sessionId, tool: "browser", ok: true, ms: 312 },
  },
  "agent:confirm": {
    mode: "notify",
    description: "A tool call is waiting for the owner's approval (portico turns confirm or deny).",
    sample: {
      ...turn,
      callId: "call_91d2",
      tool: "files",
      arguments: '{"action":"write","path":"notes.md","content":"Milk"}',
      until: "2026-01-02T08:00:00.000Z",
    },
  },
  "agent:announced": {
    mode: "notify",
    description: "A result was posted to the main session.",
    sample: {
      content: "The build is green again.",
      source: "webhook",
      turnId: "turn_5f0c",
      sessionId: "webhook:ci",
    },
  },
  "session:deleted": {
    mode: "notify",
    description:
      "A session and its transcript were deleted: delete other data that belongs to the session.",
    sample: { sessionId: "main" },
  },
  "principal:forgotten": {
    // The emitter waits for the handlers, so that the next holder never sees data of the previous one.
    mode: "change",
    description:
      "A principal's name (such as key:app) has passed to someone else or is no longer in use: delete the previous holder's data.",
    sample: { principal: "key:app" },
  },
  "command:new": describeCommandEvent("new"),
  "command:reset": describeCommandEvent("reset"),
  "command:stop": describeCommandEvent("stop"),
};

function describeCommandEvent(command: "new" | "reset" | "stop") {
  const sample: CommandContext = {
    sessionKey: "main",
    command,
    args: "",
    workspace: "/home/me/.portico/workspace",
    source: "cli",
    previousSession:
      command === "stop" ? undefined : { messages: [{ role: "user", content: "Good morning" }] },
  };
  return {
    // It has no changeable fields, but the caller of the command waits for the messages of the handlers.
    mode: "change" as const,
    description:
      command === "stop"
        ? "A session's turns were stopped."
        : "A session was reset; the event carries the messages it had before.",
    sample,
  };
}
