import {
  isPorticoError,
  type PluginContext,
  PorticoError,
  type Principal,
  withDeadline,
} from "portico";
import type { PayloadDelivery, PayloadOrder, PayloadSpec } from "portico/schedules";
import { errors } from "../errors.ts";

/** Makes the durable items of one delivery; nothing is written here. A hook's event has none: it is emitted afterwards. */
export function deliver(ctx: PluginContext, order: PayloadOrder): PayloadDelivery {
  const { payload, source, principal, key, metadata, untrusted = [] } = order;
  if (payload.kind === "hook") return { items: [] };
  const agent = ctx.use("agent");
  if (payload.kind === "systemEvent") {
    // The heartbeat fences all queued events as a whole.
    const data = untrusted.map(({ label, text }) => `${label}:\n${text}`);
    const { eventId, item } = agent.wakeItem({
      text: [payload.text, ...data].join("\n\n"),
      source,
      principal,
      eventId: `evt_${key}`,
      metadata,
      mode: payload.mode,
    });
    return { items: [item], eventId };
  }
  const { kind: _, ...request } = payload;
  const session = payload.session ?? order.defaultSession;
  const { turnId, sessionId, item } = agent.turnItem({
    ...request,
    source,
    principal,
    turnId: `turn_${key}`,
    session,
    temporary: payload.session === undefined,
    untrusted: untrusted.length > 0 ? untrusted : undefined,
    timeoutMs: order.timeoutMs,
  });
  return { items: [item], turnId, sessionId };
}

/** Throws 400 where a payload could never be delivered. */
export function checkPayload(ctx: PluginContext, payload: PayloadSpec): void {
  try {
    deliver(ctx, { payload, source: "check", principal: "outside", key: "check" });
  } catch (error) {
    throw atPayload(error);
  }
}

/**
 * Throws 400 where a payload names a model or a channel that no turn could ask. A definition from a caller is judged so;
 * one of the configuration is judged with the configuration, since providers may still be missing while it is read.
 */
export async function checkPayloadModel(
  ctx: PluginContext,
  payload: PayloadSpec,
  principal: Principal,
): Promise<void> {
  if (payload.kind !== "agentTurn") return;
  try {
    await ctx.use("agent").checkModel({ ...payload, principal });
  } catch (error) {
    throw atPayload(error);
  }
}

/**
 * The same error, seen from the definition: its `param` is below the payload, and a model or an agent that does not exist
 * makes the definition wrong.
 */
function atPayload(cause: unknown): unknown {
  if (!isPorticoError(cause)) return cause;
  const { message, details, param } = cause;
  const at = param === undefined ? "payload" : `payload.${param}`;
  if (cause.code === "model_not_found")
    return new PorticoError("invalid_request_error", message, { param: at, cause });
  const { code, status } = cause;
  return new PorticoError(code, message, { status, details, param: at, cause });
}

/** Emits an event that a job or a poll names; one that nobody declared becomes an event of its own. */
export async function emitHook(
  ctx: PluginContext,
  name: string,
  context: Record<string, unknown>,
  { timeoutMs, principal }: { timeoutMs: number; principal: Principal },
): Promise<void> {
  declareHookEvent(ctx, name);
  const emitted = ctx.emit(name as "cron:fired", context as never, { principal });
  const { outcomes, block, refusal } = await withDeadline(emitted, timeoutMs, () =>
    errors.handlersTooSlow({ event: name, timeoutMs }),
  );
  if (refusal?.code === "hook_unavailable") throw refusal;
  const failed = outcomes.find(({ ok }) => !ok);
  if (failed) {
    const reason = failed.error?.message ?? "failed";
    throw errors.handlerFailed({ owner: failed.owner, reason });
  }
  if (block !== undefined) throw errors.blocked({ event: name, reason: block });
}

/** Makes a custom event known, so that hooks for it are seen to have a source. */
export function declareHookEvent(ctx: PluginContext, name: string): void {
  if (ctx.declared(name)) return;
  ctx.event(name as "cron:fired", {
    mode: "change",
    description: "The event that a cron job or a poll names.",
    sample: { jobId: "job_1", name: "daily report", runId: "run_1" } as never,
  });
}
