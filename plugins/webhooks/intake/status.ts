/** What became of an accepted delivery, for its sender. */
import type { PluginContext } from "portico";
import type { TurnStatus, WakeStatus } from "portico/agent";
import type { NewItem, WorkItem } from "portico/store";
import { BURST, principalOfMapping } from "../job.ts";
import type { Credential } from "../settings.ts";

/** Marks items, which have just been made for this, with who has started them. */
export function startedBy({ name }: Credential, items: readonly NewItem[]): readonly NewItem[] {
  for (const { body } of items) (body as { caller?: string }).caller = name;
  return items;
}

/** `webhooks.token` reads what any webhook has started, a key only what it has started itself. */
function maySee({ name }: Credential, { kind, body }: WorkItem): boolean {
  const { caller, source } = body as { caller?: string; source?: string };
  return name === "token" ? kind === BURST || source === "webhook" : caller === name;
}

/** The state of a turn that a webhook has started; `undefined` for any other, and for other callers'. */
export async function turnState(
  ctx: PluginContext,
  id: string,
  by: Credential,
): Promise<TurnStatus | undefined> {
  const agent = ctx.use("agent");
  const item = await ctx.use("store").items.get(id);
  if (!item || !maySee(by, item)) return undefined;
  if (item.kind !== BURST) return agent.turn(id);
  const became = await becameOf(ctx, item);
  const status = became === undefined ? undefined : await agent.turn(became);
  if (status) return { ...status, turnId: id };
  const { session, mapping } = item.body as { session: string; mapping: string };
  const principal = principalOfMapping({ name: mapping });
  return { turnId: id, sessionId: session, source: "webhook", principal, ...queued(item) };
}

export async function eventState(
  ctx: PluginContext,
  id: string,
  by: Credential,
): Promise<WakeStatus | undefined> {
  const agent = ctx.use("agent");
  const item = await ctx.use("store").items.get(id);
  if (!item || !maySee(by, item)) return undefined;
  if (item.kind !== BURST) return agent.event(id);
  const became = await becameOf(ctx, item);
  const status = became === undefined ? undefined : await agent.event(became);
  return status ? { ...status, eventId: id } : { eventId: id, ...queued(item) };
}

/** What the burst became that the item belongs to. */
async function becameOf(ctx: PluginContext, item: WorkItem): Promise<string | undefined> {
  const head =
    item.drainedBy === undefined ? item : await ctx.use("store").items.get(item.drainedBy);
  return (head?.result as { became?: string } | undefined)?.became;
}

function queued(item: WorkItem) {
  return {
    state: "queued" as const,
    attempts: 0,
    createdAt: new Date(item.createdAt).toISOString(),
  };
}
