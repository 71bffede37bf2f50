/** `POST /agent`: a turn, or a command to the session. */
import { isPorticoError, principalOf, type Static } from "portico";
import type { AgentService } from "portico/agent";
import { runCommand, parseCommand } from "../commands.ts";
import { type AgentContext, MAIN_SESSION } from "../context.ts";
import type { Progress } from "../turns/progress.ts";
import { emitReceived, type TurnBody } from "../turns/turn-body.ts";
import type { Worker } from "../queue/worker.ts";
import type { agentRequest } from "../schema.ts";
import { agentRoutes } from "./routes-schema.ts";
import { streamTurn } from "./stream.ts";

interface Deps {
  agent: AgentContext;
  service: AgentService;
  worker: Worker;
  progress: Progress;
}

export function mountAgent({ agent, service, worker, progress }: Deps): void {
  agent.ctx.route("POST", "/agent", agentRoutes.start, async (call) => {
    const {
      wait,
      stream,
      session = MAIN_SESSION,
      ...request
    } = await call.json<Static<typeof agentRequest>>();
    const source = call.req.headers["x-portico-source"] === "cli" ? "cli" : "http";
    agent.settings(request.agent);
    const principal = principalOf(call.client);
    await service.checkModel({ ...request, principal });
    const turnBody: TurnBody = { ...request, stream, source, principal };
    const body = await emitReceived(agent, session, turnBody).catch((error: unknown) => {
      // If no caller waits, the turn stays in the queue until the hook works again. Commands are not queued.
      const mayWait = !wait && !stream && parseCommand(turnBody.message) === undefined;
      if (mayWait && isPorticoError(error) && error.code === "hook_unavailable") return turnBody;
      throw error;
    });
    const command = body.reply === undefined ? parseCommand(body.message) : undefined;
    if (command) {
      const result = await runCommand({ agent, service, worker }, command, {
        session,
        source,
        principal,
      });
      return { status: 200, message: result, sessionId: session, command: command.name, result };
    }
    const { turnId, item } = service.turnItem({ ...body, session });
    const start = () => agent.store().enqueue({ items: [item] });
    if (stream)
      return streamTurn({ agent, service, progress }, call, {
        turnId,
        sessionId: session,
        start,
      });
    await start();
    if (!wait) return { status: 200, message: "The turn has started.", sessionId: session, turnId };
    return service.endOf(
      await service.waitFor(turnId, { signal: call.signal, refusedAtOnce: true }),
    );
  });
}
