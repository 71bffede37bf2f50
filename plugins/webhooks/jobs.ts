/** What an accepted delivery becomes: the items that go into the store with it, and the answer. */
import { type Principal, principalNamed, type Static } from "portico";
import { newId, type AgentService, type TurnRequest } from "portico/agent";
import type { NewItem } from "portico/store";
import type { agentRequest, wakeRequest } from "./schema.ts";
import { hashOf } from "./intake/content.ts";
import type { Request } from "./mappings/paths.ts";
import type { Rendering } from "./mappings/rendering.ts";
import type { PreparedResponse } from "./mappings/respond.ts";
import type { Credential, Mapping } from "./settings.ts";

export const BURST = "webhook.burst";
const SOURCE = "webhook";

export interface Job {
  action: "wake" | "agent" | "none";
  items: readonly NewItem[];
  /** On whose behalf; none where nothing is started. */
  principal?: Principal;
  status: number;
  body?: unknown;
  itemId?: string;
  eventId?: string;
  turnId?: string;
  sessionId?: string;
  /** The response waits for the end of the turn. */
  wait?: boolean | undefined;
  /** The mapping's own response. */
  respond?: PreparedResponse | undefined;
}

/** Nothing is started: a challenge, or a delivery that its transform dropped. */
export function emptyJob(status: number, body?: unknown): Job {
  return { action: "none", items: [], status, body };
}

export function wakeJob(
  agent: AgentService,
  { text, metadata, mode }: Static<typeof wakeRequest>,
  principal: Principal,
): Job {
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

/** Throws 404 or 400 where the turn could only fail: its model, its channel or its delivery is wrong. */
export async function agentJob(
  agent: AgentService,
  { wait, delivery, ...request }: Static<typeof agentRequest>,
  { ownSessions, principal }: Pick<Credential, "ownSessions" | "principal">,
): Promise<Job> {
  await agent.checkModel({ ...request, principal });
  // the caller is no owner: no private address is delivered to on its word
  const guarded = typeof delivery === "object" ? { ...delivery, publicOnly: true } : delivery;
  const turn = { ...request, delivery: guarded, source: SOURCE, principal };
  if (ownSessions === undefined || turn.session !== undefined)
    return { ...turnJob(agent, turn), wait };
  const turnId = newId("turn");
  return {
    ...turnJob(agent, { ...turn, turnId, session: ownSessions + turnId, temporary: true }),
    wait,
  };
}

/** As `agentJob`. */
export async function mappingJob(
  agent: AgentService,
  mapping: Mapping,
  request: Request,
  rendering: Rendering,
  burstKey: string | undefined,
): Promise<Job> {
  if (rendering.action === "agent") await agent.checkModel(ownModel(mapping, rendering));
  const job = started(agent, mapping, rendering, burstKey);
  return { ...job, respond: mapping.respond?.prepare(request, job) };
}

const ownModel = (mapping: Mapping, { model, channel }: Rendering) => ({
  model,
  channel,
  principal: principalOfMapping(mapping),
});

function started(
  agent: AgentService,
  mapping: Mapping,
  rendering: Rendering,
  burstKey: string | undefined,
): Job {
  if (mapping.burst && burstKey !== undefined)
    return burstJob(agent, mapping, mapping.burst, rendering, burstKey);
  if (rendering.action === "wake")
    return wakeJob(agent, wakeOf([rendering]), principalOfMapping(mapping));
  return { ...turnJob(agent, turnOf([rendering])), wait: mapping.config.wait };
}

function turnJob(agent: AgentService, request: TurnRequest & { principal: Principal }): Job {
  const { turnId, sessionId, item } = agent.turnItem(request);
  const body = { status: 200, message: "The turn has started.", sessionId, turnId };
  const { principal } = request;
  const job = { action: "agent" as const, items: [item], itemId: turnId, turnId, sessionId };
  return { ...job, principal, status: 200, body };
}

/** A mapping itself owns what it starts, regardless of the caller: strangers write the payload. */
export function principalOfMapping({ name }: Pick<Mapping, "name">): Principal {
  return principalNamed("webhook", name);
}

/** One of a burst: it lies in a lane of its own until that has been quiet, then the whole lane becomes one turn. */
function burstJob(
  agent: AgentService,
  mapping: Mapping,
  { windowMs, maxWaitMs }: NonNullable<Mapping["burst"]>,
  rendering: Rendering,
  burstKey: string,
): Job {
  const { action } = rendering;
  const id = newId(action === "wake" ? "evt" : "turn");
  const principal = principalOfMapping(mapping);
  const key = hashOf(burstKey).slice(0, 12);
  const session = rendering.session ?? `${SOURCE}:${mapping.name}:${key}`;
  const item: NewItem = {
    id,
    lane: `${mapping.name}:${key}`,
    kind: BURST,
    body: {
      ...rendering,
      delivery: agent.sealDelivery(rendering.delivery, principal),
      session,
      temporary: rendering.session === undefined,
    },
    settle: { windowMs, maxWaitMs },
  };
  const message = "The delivery is collected with others of its kind.";
  const job = { action, principal, items: [item], itemId: id, status: 200 };
  if (action === "wake")
    return { ...job, eventId: id, body: { status: 200, message, eventId: id } };
  return {
    ...job,
    turnId: id,
    sessionId: session,
    body: { status: 200, message, sessionId: session, turnId: id },
  };
}

const MOST_FENCES = 50;

/** One turn for several deliveries of a mapping; how it runs is what the last of them says. */
export function turnOf(deliveries: readonly Rendering[]): TurnRequest & { principal: Principal } {
  const last = deliveries.at(-1) as Rendering;
  const count = deliveries.length;
  const newest = deliveries.slice(-MOST_FENCES);
  const label = (i: number) =>
    count === 1
      ? `webhook ${last.mapping}`
      : `webhook ${last.mapping}, ${count - newest.length + i + 1} of ${count}`;
  const more =
    count === 1
      ? ""
      : `\n\n(${count} deliveries came in one burst${count > MOST_FENCES ? `; the last ${MOST_FENCES} follow` : ""}.)`;
  const { session, temporary, model, channel, delivery } = last;
  return {
    message: last.task + more,
    untrusted: newest.map(({ text }, i) => ({ label: label(i), text })),
    content: last.filled ? newest.map(({ text }) => text).join("\n\n") : undefined,
    source: SOURCE,
    principal: principalOfMapping({ name: last.mapping }),
    session,
    temporary,
    model,
    channel,
    delivery,
  };
}

export function wakeOf(deliveries: readonly Rendering[]): Static<typeof wakeRequest> {
  const last = deliveries.at(-1) as Rendering;
  const texts = deliveries
    .slice(-MOST_FENCES)
    .map(({ filled, task, text }) => (filled ? text : `${task}\n${text}`));
  return {
    text: texts.join("\n\n"),
    metadata: {
      mapping: last.mapping,
      deliveries: deliveries.length > 1 ? deliveries.length : undefined,
    },
    mode: last.mode,
  };
}
