/** `/new`, `/reset` and `/stop`: what a person says to the agent about the session itself. */
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

/** `undefined` for anything that is no command. */
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

/** Does it, tells the handlers of `command:*`, and answers what to say. */
export async function runCommand(
  scope: Scope,
  command: Command,
  { session: sessionId, source, principal }: Caller,
): Promise<string> {
  const { agent } = scope;
  const { name, args } = command;
  const stopped = await stopSession(scope, sessionId);
  const previous = name === "stop" ? undefined : await previousMessages(agent, sessionId);
  const result = await agent.ctx.emit(
    `command:${name}`,
    {
      sessionKey: sessionId,
      command: name,
      args,
      workspace: agent.settings(undefined).workspace,
      source,
      previousSession: previous && { messages: previous },
    },
    { sessionKey: sessionId, principal },
  );
  if (previous !== undefined) {
    await agent.store().sessions.clear(sessionId);
    await agent.store().sessions.put(sessionId, { summary: null, summaryUpTo: null });
  }
  return [...result.messages, sayDone(name, stopped)].join("\n\n");
}

async function stopSession({ agent, service, worker }: Scope, sessionId: string): Promise<number> {
  const store = agent.store();
  const queued = await store.items.list({
    kind: "turn",
    lane: sessionId,
    state: "queued",
    limit: 1000,
  });
  const ids = new Set([...queued.map((item) => item.id), ...worker.runningIn(sessionId)]);
  const elsewhere = await store.items.list({ kind: "turn", lane: sessionId, state: "running" });
  for (const item of elsewhere) ids.add(item.id);
  let stopped = 0;
  for (const id of ids) {
    if (!(await service.cancel(id))) continue;
    stopped++;
    await service.waitFor(id, { timeoutMs: 5000 }).catch(() => {});
  }
  return stopped;
}

async function previousMessages(
  agent: AgentContext,
  sessionId: string,
): Promise<{ role: string; content: string }[]> {
  const stored = await agent.store().sessions.transcript(sessionId);
  return stored.map(({ role, body }) => ({ role, content: textOf(body as ChatMessage) }));
}

function sayDone(name: Command["name"], stopped: number): string {
  const turns = stopped === 1 ? "one turn" : `${stopped} turns`;
  if (name === "stop") return stopped === 0 ? "Nothing was running." : `Stopped ${turns}.`;
  return stopped === 0 ? "A new session has begun." : `Stopped ${turns}; a new session has begun.`;
}
