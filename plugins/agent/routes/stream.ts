/** Streams a turn as server-sent events: `turn`, `tool`, `confirm`, `delta`, `failed`, `attempt`, `end`. */
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

interface StreamedTurn {
  turnId: string;
  sessionId: string;
  start(): Promise<unknown>;
}

/**
 * Throws before the stream begins if the turn could not be enqueued, so that the client gets an ordinary error
 * response.
 */
export async function streamTurn(
  { agent, service, progress }: Deps,
  call: Call,
  { turnId, sessionId, start }: StreamedTurn,
): Promise<void> {
  // Events that arrive before the response has begun wait here.
  const earlyEvents: [name: string, data: object][] = [];
  let send = (name: string, data: object): void => void earlyEvents.push([name, data]);
  let lastAttempt = 0;
  const listen: ListenToAttempts = (text, attempt) => {
    if (lastAttempt !== 0 && lastAttempt !== attempt) send("attempt", { attempt });
    lastAttempt = attempt;
    send("delta", { text });
  };
  const disposers = [
    progress.onDelta(turnId, listen),
    followEvents(agent, turnId, (name, data) => send(name, data)),
  ];
  try {
    await start();
    const sse = openSse(call, { endOnClose: false });
    sse.send("turn", { turnId, sessionId });
    for (const [name, data] of earlyEvents) sse.send(name, data);
    send = (name, data) => sse.send(name, data);
    const status = await service.waitFor(turnId, { signal: call.signal }).catch(() => undefined);
    // The deltas of an attempt in another gateway do not arrive here, so its result is sent as one delta.
    if (status?.result && lastAttempt !== status.attempts) listen(status.result, status.attempts);
    if (status) sse.send("end", status);
    sse.close();
  } finally {
    for (const dispose of disposers) void dispose();
  }
}

/** Passes on the turn's tool calls, calls that wait for the owner, and failed attempts that will be retried. */
function followEvents(
  { ctx }: AgentContext,
  turnId: string,
  send: (name: string, data: object) => void,
) {
  return ctx.onAny((event) => {
    if (event.name === "agent:tool" && event.context.turnId === turnId) {
      const { tool, ok, ms } = event.context;
      send("tool", { tool, ok, ms });
    }
    if (event.name === "agent:confirm" && event.context.turnId === turnId) {
      const { callId, tool, arguments: args, until } = event.context;
      send("confirm", { callId, tool, arguments: args, until });
    }
    if (
      event.name === "agent:failed" &&
      event.context.turnId === turnId &&
      event.context.willRetry
    ) {
      const { attempts, error, retryAt } = event.context;
      send("failed", { attempt: attempts, error, retryAt });
    }
  });
}
