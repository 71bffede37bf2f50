/** Calls one handler of an event, with a deadline and in the context of its owner. Never throws. */
import type {
  BusEvent,
  BusHandler,
  HandlerResult,
  Logger,
  OnOptions,
  Outcome,
} from "../contract/index.ts";
import { asError } from "../errors.ts";
import { withDeadline } from "../timing/deadline.ts";
import { runAs, currentOwner } from "./owner.ts";

/** A registered handler with its options. */
export type Entry = OnOptions &
  Required<Pick<OnOptions, "priority" | "timeoutMs" | "owner" | "traced">> & {
    handler: BusHandler;
  };

export function createEntry(
  handler: BusHandler,
  {
    priority = 0,
    timeoutMs = 10_000,
    owner = "kernel",
    traced = true,
    ...otherOptions
  }: OnOptions = {},
): Entry {
  return { handler, priority, timeoutMs, owner, traced, ...otherOptions };
}

/** The error of a handler that was still running at its deadline; its signal has been aborted. */
class DeadlineError extends Error {
  override name = "DeadlineError";
}

/** Calls a handler. `result` is undefined if the handler failed. */
export async function callHandler(
  entry: Entry,
  event: BusEvent,
  log: Logger,
): Promise<{ outcome: Outcome; result?: HandlerResult }> {
  const startedAt = performance.now();
  try {
    const result = await runHandler(entry, event);
    return { outcome: settle(entry, event, startedAt), result };
  } catch (thrown) {
    const error = asError(thrown);
    if (!entry.settled)
      log.warn({ event: event.name, owner: entry.owner, err: error }, "handler failed");
    return { outcome: settle(entry, event, startedAt, error) };
  }
}

async function runHandler(entry: Entry, event: BusEvent): Promise<HandlerResult> {
  // Handlers receive the controller, which creates its signal at the first use: most handlers never use the signal, and
  // creating it takes longer than they do.
  const controller = new AbortController();
  const chain = currentOwner()?.chain;
  let result: ReturnType<BusHandler>;
  const call = () => {
    result = entry.handler(event, controller);
  };
  const begin = () => {
    const properties = { event: event.name, chain, principal: event.principal };
    if (entry.traced) runAs(entry.owner, call, properties);
    else call();
  };
  if (entry.begin) await entry.begin(begin, event);
  else begin();
  if (!(result instanceof Object && "then" in result)) return result;
  return withDeadline(result as Promise<HandlerResult>, entry.timeoutMs, () => {
    const error = new DeadlineError(`still running after its deadline of ${entry.timeoutMs} ms`);
    controller.abort(error);
    return error;
  });
}

function settle(entry: Entry, event: BusEvent, startedAt: number, error?: Error): Outcome {
  const ms = performance.now() - startedAt;
  const outcome: Outcome = { owner: entry.owner, ok: error === undefined, ms };
  if (error) {
    outcome.error = error;
    outcome.timedOut = error instanceof DeadlineError || undefined;
  }
  entry.settled?.(outcome, event);
  return outcome;
}
