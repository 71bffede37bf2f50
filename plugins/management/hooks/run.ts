/** One call of a hook by hand, against an event's sample. */
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

/** Never throws for what the handler does; a wrong event is an `invalid_request_error`. */
export async function runHook(
  { hooks, events }: Pick<Management, "events"> & { hooks: Pick<Management["hooks"], "tryOut"> },
  hook: string,
  request: HookRunRequest,
): Promise<HookRunReport> {
  let event = "";
  let context: Record<string, unknown> = {};
  const trial = await hooks.tryOut(hook, (handled) => {
    event = eventOf(handled, request.event, events().keys());
    context = {
      ...structuredClone((events().get(event)?.sample ?? {}) as object),
      ...request.context,
    };
    return { name: event, context, sessionKey: request.sessionKey, principal: "owner" };
  });
  return { hook, event, context, ...trial };
}

function eventOf(
  handled: readonly string[],
  wanted: string | undefined,
  declared: Iterable<string>,
): string {
  const options = { param: "event" };
  const list = handled.join(", ");
  const event = wanted ?? (handled.length === 1 ? handled[0] : undefined);
  if (event === undefined) throw errors.eventMissing({ handled: list }, options);
  if (handled.includes(event)) return event;
  const near = didYouMean(event, [...handled, ...declared]);
  const hint = near && near !== event ? ` Did you mean ${near}?` : "";
  throw errors.eventNotHandled({ event, handled: list, hint }, options);
}
