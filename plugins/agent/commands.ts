/** The commands `/new`, `/reset` and `/stop`, with which a user controls the session itself. */
import type { Principal } from "portico";
import type { AgentService } from "portico/agent";
import type { ChatMessage } from "portico/provider";
import { textOf } from "./turns/ask.ts";
import type { AgentContext } from "./context.ts";
import type { Worker } from "./queue/worker.ts";

export interface Command {
  name: "new" | "reset" | "stop";
  args: string;
}

/** Returns undefined if the message is not a command. */
export function parseCommand(message: string): Command | undefined {
  const match = /^\s*\/(new|reset|stop)(?:\s+([\s\S]*))?$/.exec(message);
  if (!match) return undefined;
  return { name: match[1] as Command["name"], args: (match[2] ?? "").trim() };
}

interface Scope {
  agent: AgentContext;
  service: AgentService;
  worker: Worker;
}

interface Caller {
  session: string;
  source: string;
  principal: Principal;
}

/** Runs a command and emits `command:*`. Returns the reply for the user, including the messages of handlers. */
export async function runCommand(
  scope: Scope,
  command: Command,
  { session: sessionId, source, principal }: Caller,
): Promise<string> {
  const { agent } = scope;
  const { name, args } = command;
  const stoppedCount = await stopSession(scope, sessionId);
  const previousMessages = name === "stop" ? undefined : await readMessages(agent, sessionId);
  const result = await agent.ctx.emit(
    `command:${name}`,
    {
      sessionKey: sessionId,
      command: name,
      args,
      workspace: agent.settings(undefined).workspace,
      source,
      previousSession: previousMessages && { messages: previousMessages },
    },
    { sessionKey: sessionId, principal },
  );
  if (previousMessages !== undefined) {
    await agent.store().sessions.clear(sessionId);
    await agent.store().sessions.put(sessionId, { summary: null, summaryUpTo: null });
  }
  return [...result.messages, describeResult(name, stoppedCount)].join("\n\n");
}

async function stopSession({ agent, service, worker }: Scope, sessionId: string): Promise<number> {
  const store = agent.store();
  const queuedItems = await store.items.list({
    kind: "turn",
    lane: sessionId,
    state: "queued",
    limit: 1000,
  });
  const ids = new Set([...queuedItems.map((item) => item.id), ...worker.runningIn(sessionId)]);
  const runningItems = await store.items.list({ kind: "turn", lane: sessionId, state: "running" });
  for (const item of runningItems) ids.add(item.id);
  let stoppedCount = 0;
  for (const id of ids) {
    if (!(await service.cancel(id))) continue;
    stoppedCount++;
    await service.waitFor(id, { timeoutMs: 5000 }).catch(() => {});
  }
  return stoppedCount;
}

async function readMessages(
  agent: AgentContext,
  sessionId: string,
): Promise<{ role: string; content: string }[]> {
  const storedMessages = await agent.store().sessions.transcript(sessionId);
  return storedMessages.map(({ role, body }) => ({ role, content: textOf(body as ChatMessage) }));
}

function describeResult(name: Command["name"], stoppedCount: number): string {
  const turns = stoppedCount === 1 ? "one turn" : `${stoppedCount} turns`;
  if (name === "stop") return stoppedCount === 0 ? "Nothing was running." : `Stopped ${turns}.`;
  return stoppedCount === 0
    ? "A new session has begun."
    : `Stopped ${turns}; a new session has begun.`;
}
