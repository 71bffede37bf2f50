/** Runs a hook against an event's sample, at the user's request. */
import { didYouMean, type HookTrial, type Management } from "portico";
import { errors } from "../errors.ts";

export interface HookRunRequest {
  /** Default: the only event of the hook. */
  event?: string;
  /** Replaces these fields of the event's sample. */
  context?: Record<string, unknown>;
  sessionKey?: string;
}

export interface HookRunReport extends HookTrial {
  hook: string;
  event: string;
  /** The context of the event that it received. */
  context: Record<string, unknown>;
}

/**
 * Runs a hook. A failure of the handler is part of the report; rejects with `invalid_request_error` if the event is wrong.
 */
export async function runHook(
  { hooks, events }: Pick<Management, "events"> & { hooks: Pick<Management["hooks"], "tryOut"> },
  hook: string,
  request: HookRunRequest,
): Promise<HookRunReport> {
  let event = "";
  let context: Record<string, unknown> = {};
  const trial = await hooks.tryOut(hook, (handled) => {
    event = selectEvent(handled, request.event, events().keys());
    context = {
      ...structuredClone((events().get(event)?.sample ?? {}) as object),
      ...request.context,
    };
    return { name: event, context, sessionKey: request.sessionKey, principal: "owner" };
  });
  return { hook, event, context, ...trial };
}

function selectEvent(
  handled: readonly string[],
  requested: string | undefined,
  declared: Iterable<string>,
): string {
  const options = { param: "event" };
  const list = handled.join(", ");
  const event = requested ?? (handled.length === 1 ? handled[0] : undefined);
  if (event === undefined) throw errors.eventMissing({ handled: list }, options);
  if (handled.includes(event)) return event;
  const suggestion = didYouMean(event, [...handled, ...declared]);
  const hint = suggestion && suggestion !== event ? ` Did you mean ${suggestion}?` : "";
  throw errors.eventNotHandled({ event, handled: list, hint }, options);
}
