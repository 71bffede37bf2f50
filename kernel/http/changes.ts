/**
 * Requests that set out to change something by the owner's authority. Every request of every server passes here, so no
 * route has to remember that its changes are to be kept.
 */
import { changeAs } from "../config/origin.ts";
import type { PorticoError } from "../errors.ts";
import { exactJson } from "../text/exact-json.ts";
import { withDeadline } from "../timing/deadline.ts";
import type { ChangeAttempt, ChangeWatcher, Logger, RouteOptions } from "../contract/index.ts";
import { originOf } from "./access/origin.ts";
import { type Entry, readEntry } from "./entry-reading.ts";
import type { RequestContext } from "./request/context.ts";
import { publicError } from "./response/errors.ts";
import { jsonOf, statusOfResult } from "./response/reply.ts";

/** How long a response waits for who keeps the change. */
const WATCHER_MS = 5000;

/** What the attempt was for. */
interface ChangeTarget {
  /** The pattern of its route. */
  route: string;
  /** What its path names, where `GET` shows that. */
  entry: Entry | undefined;
}

interface Outcome extends Partial<Pick<ChangeAttempt, "before" | "after" | "configuration">> {
  status: number;
  error?: PorticoError;
  result?: unknown;
}

/** Whether the owner's credential opens the route, and no other. */
export function isOwners({ access }: Pick<RouteOptions, "access">): boolean {
  return access === "gateway" || access === "control";
}

/** Whether requests with this method to this route are kept as changes. */
export function isChange(
  route: Pick<RouteOptions, "access" | "changes" | "query">,
  { method, query }: Pick<RequestContext, "method" | "query">,
): boolean {
  if (method === "GET" || method === "HEAD" || route.changes === false) return false;
  return isOwners(route) && !(knowsDryRun(route) && query.get("dryRun") === "true");
}

/** A route that does not declare `dryRun` makes the change whatever the query says. */
function knowsDryRun({ query }: Pick<RouteOptions, "query">): boolean {
  return typeof query === "object" && Object.hasOwn(query["properties"] ?? {}, "dryRun");
}

export function createChangeRecording(watchers: () => readonly ChangeWatcher[], log: Logger) {
  /** A watcher that fails or hangs harms no response. */
  async function tell(attempt: ChangeAttempt): Promise<void> {
    for (const watcher of watchers()) {
      try {
        const work = watcher.attempted(attempt);
        await withDeadline(work, WATCHER_MS, () => new Error("it took longer than 5 s"));
      } catch (error) {
        const { requestId: id } = attempt;
        log.error({ err: error, id, watcher: watcher.name }, "a change could not be recorded");
      }
    }
  }

  return {
    /** Makes a change, and reports what became of it before the response goes out. */
    make(call: RequestContext, { route, entry }: ChangeTarget, work: () => unknown): unknown {
      const isWatched = watchers().length > 0;
      return changeAs(originOf(call), async (configuration) => {
        if (!isWatched) return work();
        const before = entry && (await readEntry(entry, call));
        try {
          const value = await work();
          const isGone = call.method === "DELETE";
          const after = entry && !isGone ? await readEntry(entry, call) : undefined;
          const outcome = { before, after, configuration, result: jsonOf(value) };
          await tell(attemptOf(call, route, { ...outcome, status: statusOfResult(value) }));
          return value;
        } catch (error) {
          await tell(attemptOf(call, route, failed(error, call)));
          throw error;
        }
      });
    },
    /** Reports a request that did not get as far as its handler. */
    refused(call: RequestContext, route: string, error: unknown): void {
      if (watchers().length > 0) void tell(attemptOf(call, route, failed(error, call)));
    },
  };
}

function failed(failure: unknown, { id }: RequestContext): Outcome {
  const error = publicError(failure, id);
  return { status: error.status, error };
}

function attemptOf(call: RequestContext, route: string, outcome: Outcome): ChangeAttempt {
  const { status, error, before, after, result, configuration = [] } = outcome;
  return {
    requestId: call.id,
    origin: originOf(call),
    method: call.method,
    route,
    path: call.path,
    params: call.params,
    status,
    error,
    body: exactJson.toPlain(call.jsonBody),
    before,
    after,
    result,
    configuration: [...configuration],
  };
}
