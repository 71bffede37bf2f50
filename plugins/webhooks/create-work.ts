/** Creates the work of requests to `wake` and `agent`, and of requests that a mapping has rendered. */
import type { Principal, Static } from "portico";
import { type AgentService, newId, type TurnRequest } from "portico/agent";
import { createBurstWork } from "./bursts/collect.ts";
import { combineIntoEvent, combineIntoTurn } from "./bursts/combine.ts";
import { type StartedWork, principalOfMapping, SOURCE } from "./started-work.ts";
import type { Request } from "./mappings/paths.ts";
import type { Rendering } from "./mappings/rendering.ts";
import type { agentRequest, wakeRequest } from "./schema.ts";
import type { Credential, Mapping } from "./settings.ts";

export function createWakeWork(
  agent: AgentService,
  { text, metadata, mode }: Static<typeof wakeRequest>,
  principal: Principal,
): StartedWork {
  const { eventId, item } = agent.wakeItem({ text, source: SOURCE, metadata, mode, principal });
  const message =
    mode === "now"
      ? "The event is queued, and the agent starts."
      : "The event is queued for the next heartbeat.";
  return {
    action: "wake",
    principal,
    items: [item],
    itemId: eventId,
    eventId,
    status: 200,
    body: { status: 200, message, eventId },
  };
}

/** Throws 404 or 400 if the turn could only fail, because its model, channel or delivery is wrong. */
export async function createAgentWork(
  agent: AgentService,
  { wait, delivery, ...request }: Static<typeof agentRequest>,
  { ownSessions, principal }: Pick<Credential, "ownSessions" | "principal">,
): Promise<StartedWork> {
  await agent.checkModel({ ...request, principal });
  // The caller is not the owner, so it may not name a private address as the target.
  const publicDelivery =
    typeof delivery === "object" ? { ...delivery, publicOnly: true } : delivery;
  const turn = { ...request, delivery: publicDelivery, source: SOURCE, principal };
  if (ownSessions === undefined || turn.session !== undefined)
    return { ...createTurnWork(agent, turn), wait };
  const turnId = newId("turn");
  return {
    ...createTurnWork(agent, { ...turn, turnId, session: ownSessions + turnId, temporary: true }),
    wait,
  };
}

/** Throws the same errors as `createAgentJob`. */
export async function createMappingWork(
  agent: AgentService,
  mapping: Mapping,
  request: Request,
  rendering: Rendering,
  burstKey: string | undefined,
): Promise<StartedWork> {
  const { action, model, channel } = rendering;
  const principal = principalOfMapping(mapping);
  if (action === "agent") await agent.checkModel({ model, channel, principal });
  const work = createWorkOfRendering(agent, mapping, rendering, burstKey);
  return { ...work, respond: mapping.respond?.prepare(request, work) };
}

function createWorkOfRendering(
  agent: AgentService,
  mapping: Mapping,
  rendering: Rendering,
  burstKey: string | undefined,
): StartedWork {
  if (mapping.burst && burstKey !== undefined)
    return createBurstWork(agent, mapping, mapping.burst, rendering, burstKey);
  if (rendering.action === "wake")
    return createWakeWork(agent, combineIntoEvent([rendering]), principalOfMapping(mapping));
  return { ...createTurnWork(agent, combineIntoTurn([rendering])), wait: mapping.config.wait };
}

function createTurnWork(
  agent: AgentService,
  request: TurnRequest & { principal: Principal },
): StartedWork {
  const { turnId, sessionId, item } = agent.turnItem(request);
  const body = { status: 200, message: "The turn has started.", sessionId, turnId };
  const { principal } = request;
  const work = { action: "agent" as const, items: [item], itemId: turnId, turnId, sessionId };
  return { ...work, principal, status: 200, body };
}
