/** Reports the state of an accepted delivery to its sender. */
import type { PluginContext } from "portico";
import type { TurnStatus, WakeStatus } from "portico/agent";
import type { NewItem, WorkItem } from "portico/store";
import { BURST, principalOfMapping } from "../started-work.ts";
import type { Credential } from "../settings.ts";

/** Marks new items with the caller that has started them, in place. */
export function markCaller({ name }: Credential, items: readonly NewItem[]): readonly NewItem[] {
  for (const { body } of items) (body as { caller?: string }).caller = name;
  return items;
}

/** Returns whether a caller may see an item. `webhooks.token` sees those of all webhooks, a key only its own. */
function maySee({ name }: Credential, { kind, body }: WorkItem): boolean {
  const { caller, source } = body as { caller?: string; source?: string };
  return name === "token" ? kind === BURST || source === "webhook" : caller === name;
}

/** Returns the state of a turn that a webhook has started, or `undefined` for other turns and those of other callers. */
export async function readTurnState(
  ctx: PluginContext,
  id: string,
  caller: Credential,
): Promise<TurnStatus | undefined> {
  const agent = ctx.use("agent");
  const item = await ctx.use("store").items.get(id);
  if (!item || !maySee(caller, item)) return undefined;
  if (item.kind !== BURST) return agent.turn(id);
  const resultId = await findResultId(ctx, item);
  const status = resultId === undefined ? undefined : await agent.turn(resultId);
  if (status) return { ...status, turnId: id };
  const { session, mapping } = item.body as { session: string; mapping: string };
  const principal = principalOfMapping({ name: mapping });
  return { turnId: id, sessionId: session, source: "webhook", principal, ...queuedStatus(item) };
}

export async function readEventState(
  ctx: PluginContext,
  id: string,
  caller: Credential,
): Promise<WakeStatus | undefined> {
  const agent = ctx.use("agent");
  const item = await ctx.use("store").items.get(id);
  if (!item || !maySee(caller, item)) return undefined;
  if (item.kind !== BURST) return agent.event(id);
  const resultId = await findResultId(ctx, item);
  const status = resultId === undefined ? undefined : await agent.event(resultId);
  return status ? { ...status, eventId: id } : { eventId: id, ...queuedStatus(item) };
}

/** Returns the id of the turn or event that the item's burst has become, or undefined before the burst ends. */
async function findResultId(ctx: PluginContext, item: WorkItem): Promise<string | undefined> {
  const head =
    item.drainedBy === undefined ? item : await ctx.use("store").items.get(item.drainedBy);
  return (head?.result as { became?: string } | undefined)?.became;
}

function queuedStatus(item: WorkItem) {
  return {
    state: "queued" as const,
    attempts: 0,
    createdAt: new Date(item.createdAt).toISOString(),
  };
}
