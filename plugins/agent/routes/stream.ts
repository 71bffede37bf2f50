/** A turn as server-sent events: `turn`, `tool`, `confirm`, `delta`, `failed`, `attempt`, `end`. */
import type { Call } from "portico";
import { openSse } from "portico/event-stream";
import type { AgentService } from "portico/agent";
import type { AgentContext } from "../context.ts";
import type { ListenToAttempts, Progress } from "../turns/progress.ts";

interface Deps {
  agent: AgentContext;
  service: AgentService;
  progress: Progress;
}

interface Started {
  turnId: string;
  sessionId: string;
  start(): Promise<unknown>;
}

/** Fails as a plain response where the turn could not be put into the queue. */
export async function streamTurn(
  { agent, service, progress }: Deps,
  call: Call,
  { turnId, sessionId, start }: Started,
): Promise<void> {
  // What comes before the response has begun waits for that.
  const early: [name: string, data: object][] = [];
  let send = (name: string, data: object): void => void early.push([name, data]);
  let lastAttempt = 0;
  const listen: ListenToAttempts = (text, attempt) => {
    if (lastAttempt !== 0 && lastAttempt !== attempt) send("attempt", { attempt });
    lastAttempt = attempt;
    send("delta", { text });
  };
  const undo = [
    progress.onDelta(turnId, listen),
    followEvents(agent, turnId, (name, data) => send(name, data)),
  ];
  try {
    await start();
    const sse = openSse(call, { endOnClose: false });
    sse.send("turn", { turnId, sessionId });
    for (const [name, data] of early) sse.send(name, data);
    send = (name, data) => sse.send(name, data);
    const status = await service.waitFor(turnId, { signal: call.signal }).catch(() => undefined);
    // an attempt that another gateway has made was not heard here
    if (status?.result && lastAttempt !== status.attempts) listen(status.result, status.attempts);
    if (status) sse.send("end", status);
    sse.close();
  } finally {
    for (const each of undo) void each();
  }
}

/** Tools that were called, calls that wait for the owner, and attempts that failed and have another one behind them. */
function followEvents(
  { ctx }: AgentContext,
  of: string,
  send: (name: string, data: object) => void,
) {
  return ctx.onAny((event) => {
    if (event.name === "agent:tool" && event.context.turnId === of) {
      const { tool, ok, ms } = event.context;
      send("tool", { tool, ok, ms });
    }
    if (event.name === "agent:confirm" && event.context.turnId === of) {
      const { callId, tool, arguments: args, until } = event.context;
      send("confirm", { callId, tool, arguments: args, until });
    }
    if (event.name === "agent:failed" && event.context.turnId === of && event.context.willRetry) {
      const { attempts, error, retryAt } = event.context;
      send("failed", { attempt: attempts, error, retryAt });
    }
  });
}
