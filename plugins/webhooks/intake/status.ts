/** What became of an accepted delivery, for its sender. */
import type { PluginContext } from "portico";
import type { TurnStatus, WakeStatus } from "portico/agent";
import type { WorkItem } from "portico/store";
import { BURST } from "../jobs.ts";

/** The state of a turn that a webhook has started; `undefined` for any other. */
export async function turnState(ctx: PluginContext, id: string): Promise<TurnStatus | undefined> {
  const agent = ctx.use("agent");
  const turn = await agent.turn(id);
  if (turn) return turn.source === "webhook" ? turn : undefined;
  const waiting = await burstItem(ctx, id);
  if (!waiting) return undefined;
  const became = await becameOf(ctx, waiting);
  const status = became === undefined ? undefined : await agent.turn(became);
  if (status) return { ...status, turnId: id };
  const { session } = waiting.body as { session: string };
  return { turnId: id, sessionId: session, source: "webhook", ...queued(waiting) };
}

export async function eventState(ctx: PluginContext, id: string): Promise<WakeStatus | undefined> {
  const agent = ctx.use("agent");
  const event = await agent.event(id);
  if (event) return event;
  const waiting = await burstItem(ctx, id);
  if (!waiting) return undefined;
  const became = await becameOf(ctx, waiting);
  const status = became === undefined ? undefined : await agent.event(became);
  return status ? { ...status, eventId: id } : { eventId: id, ...queued(waiting) };
}

async function burstItem(ctx: PluginContext, id: string): Promise<WorkItem | undefined> {
  const item = await ctx.use("store").items.get(id);
  return item?.kind === BURST ? item : undefined;
}

/** What the burst became that the item belongs to. */
async function becameOf(ctx: PluginContext, item: WorkItem): Promise<string | undefined> {
  const head = item.drainedBy === undefined ? item : await ctx.use("store").items.get(item.drainedBy);
  return (head?.result as { became?: string } | undefined)?.became;
}

function queued(item: WorkItem) {
  return { state: "queued" as const, attempts: 0, createdAt: new Date(item.createdAt).toISOString() };
}
