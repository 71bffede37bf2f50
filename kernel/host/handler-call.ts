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
import { runAs, running } from "./owner.ts";

/** A registered handler with its options. */
export type Entry = OnOptions &
  Required<Pick<OnOptions, "priority" | "timeoutMs" | "owner" | "traced">> & {
    handler: BusHandler;
  };

export function entryOf(
  handler: BusHandler,
  { priority = 0, timeoutMs = 10_000, owner = "kernel", traced = true, ...further }: OnOptions = {},
): Entry {
  return { handler, priority, timeoutMs, owner, traced, ...further };
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
  const began = performance.now();
  try {
    const result = await runHandler(entry, event);
    return { outcome: settle(entry, event, began), result };
  } catch (thrown) {
    const error = asError(thrown);
    if (!entry.settled)
      log.warn({ event: event.name, owner: entry.owner, err: error }, "handler failed");
    return { outcome: settle(entry, event, began, error) };
  }
}

async function runHandler(entry: Entry, event: BusEvent): Promise<HandlerResult> {
  // Handlers receive the controller, which creates its signal at the first use: most handlers never use the signal, and
  // creating it takes longer than they do.
  const controller = new AbortController();
  const chain = running()?.chain;
  let result: ReturnType<BusHandler>;
  const call = () => {
    result = entry.handler(event, controller);
  };
  const begin = () => {
    const about = { event: event.name, chain, principal: event.principal };
    if (entry.traced) runAs(entry.owner, call, about);
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

function settle(entry: Entry, event: BusEvent, began: number, error?: Error): Outcome {
  const ms = performance.now() - began;
  const outcome: Outcome = { owner: entry.owner, ok: error === undefined, ms };
  if (error) {
    outcome.error = error;
    outcome.timedOut = error instanceof DeadlineError || undefined;
  }
  entry.settled?.(outcome, event);
  return outcome;
}
