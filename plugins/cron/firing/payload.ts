import {
  isPorticoError,
  type PluginContext,
  PorticoError,
  type Principal,
  withDeadline,
} from "portico";
import type { PayloadDelivery, PayloadOrder, PayloadSpec } from "portico/schedules";
import { errors } from "../errors.ts";

/**
 * Creates the durable items of a delivery, without writing anything. A hook has none, because its event is emitted
 * afterwards.
 */
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

/** Throws 400 if a payload could never be delivered. */
export function checkPayload(ctx: PluginContext, payload: PayloadSpec): void {
  try {
    deliver(ctx, { payload, source: "check", principal: "outside", key: "check" });
  } catch (error) {
    throw toPayloadError(error);
  }
}

/**
 * Throws 400 if a payload names a model or a channel that no turn could use. This applies to definitions from callers. The
 * configuration check validates those of the configuration, because providers may still be missing while it is read.
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
    throw toPayloadError(error);
  }
}

/**
 * Converts an error of the agent to an error of the definition: `param` is a member of the payload, and an unknown model or
 * agent becomes 400.
 */
function toPayloadError(cause: unknown): unknown {
  if (!isPorticoError(cause)) return cause;
  const { message, details, param } = cause;
  const payloadParam = param === undefined ? "payload" : `payload.${param}`;
  if (cause.code === "model_not_found")
    return new PorticoError("invalid_request_error", message, { param: payloadParam, cause });
  const { code, status } = cause;
  return new PorticoError(code, message, { status, details, param: payloadParam, cause });
}

/** Emits the event that a job or a poll names, and waits for its handlers. An undeclared event is declared first. */
export async function emitHook(
  ctx: PluginContext,
  name: string,
  context: Record<string, unknown>,
  { timeoutMs, principal }: { timeoutMs: number; principal: Principal },
): Promise<void> {
  declareHookEvent(ctx, name);
  const emission = ctx.emit(name as "cron:fired", context as never, { principal });
  const { outcomes, block, refusal } = await withDeadline(emission, timeoutMs, () =>
    errors.handlersTooSlow({ event: name, timeoutMs }),
  );
  if (refusal?.code === "hook_unavailable") throw refusal;
  const failedOutcome = outcomes.find(({ ok }) => !ok);
  if (failedOutcome) {
    const reason = failedOutcome.error?.message ?? "failed";
    throw errors.handlerFailed({ owner: failedOutcome.owner, reason });
  }
  if (block !== undefined) throw errors.blocked({ event: name, reason: block });
}

/** Declares a custom event, so that hooks for it do not appear to have no source. */
export function declareHookEvent(ctx: PluginContext, name: string): void {
  if (ctx.declared(name)) return;
  ctx.event(name as "cron:fired", {
    mode: "change",
    description: "The event that a cron job or a poll names.",
    sample: { jobId: "job_1", name: "daily report", runId: "run_1" } as never,
  });
}
