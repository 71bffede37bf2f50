/**
 * Records requests that try to change something with the owner's credentials. Every request of every server passes
 * through here, so no route has to record its own changes.
 */
import { changeAs } from "../config/origin.ts";
import type { PorticoError } from "../errors.ts";
import { exactJson } from "../text/exact-json.ts";
import { withDeadline } from "../timing/deadline.ts";
import type { ChangeAttempt, ChangeWatcher, Logger, RouteOptions } from "../contract/index.ts";
import { describeOrigin } from "./access/origin.ts";
import { type Entry, readEntry } from "./entry-reading.ts";
import type { RequestContext } from "./request/context.ts";
import { publicError } from "./response/errors.ts";
import { copyJson, getResultStatus } from "./response/reply.ts";

/** The longest time that a response waits for one watcher. */
const WATCHER_MS = 5000;

/** The route and the entry that a change is about. */
interface ChangeTarget {
  /** The pattern of the route. */
  route: string;
  /** The entry that the path names; undefined if no `GET` route shows it. */
  entry: Entry | undefined;
}

interface Outcome extends Partial<Pick<ChangeAttempt, "before" | "after" | "configuration">> {
  status: number;
  error?: PorticoError;
  result?: unknown;
}

/** Whether only the owner's credentials open the route. */
export function isOwnersOnly({ access }: Pick<RouteOptions, "access">): boolean {
  return access === "gateway" || access === "control";
}

/** Whether such a request to this route is recorded as a change. */
export function isChange(
  route: Pick<RouteOptions, "access" | "changes" | "query">,
  { method, query }: Pick<RequestContext, "method" | "query">,
): boolean {
  if (method === "GET" || method === "HEAD" || route.changes === false) return false;
  return isOwnersOnly(route) && !(supportsDryRun(route) && query.get("dryRun") === "true");
}

/** Whether the route declares `dryRun`. Any other route makes the change even if the query has `dryRun`. */
function supportsDryRun({ query }: Pick<RouteOptions, "query">): boolean {
  return typeof query === "object" && Object.hasOwn(query["properties"] ?? {}, "dryRun");
}

export function createChangeRecording(watchers: () => readonly ChangeWatcher[], log: Logger) {
  /** Passes the attempt to each watcher. A watcher that fails or hangs does not affect the response. */
  async function notifyWatchers(attempt: ChangeAttempt): Promise<void> {
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
    /** Makes a change, and reports its outcome to the watchers before the response is sent. */
    makeChange(call: RequestContext, { route, entry }: ChangeTarget, work: () => unknown): unknown {
      const isWatched = watchers().length > 0;
      return changeAs(describeOrigin(call), async (configuration) => {
        if (!isWatched) return work();
        const before = entry && (await readEntry(entry, call));
        try {
          const value = await work();
          const isDeletion = call.method === "DELETE";
          const after = entry && !isDeletion ? await readEntry(entry, call) : undefined;
          const outcome = { before, after, configuration, result: copyJson(value) };
          await notifyWatchers(
            createAttempt(call, route, { ...outcome, status: getResultStatus(value) }),
          );
          return value;
        } catch (error) {
          await notifyWatchers(createAttempt(call, route, failureOutcome(error, call)));
          throw error;
        }
      });
    },
    /** Reports a request that was refused before it reached its handler. */
    reportRefusal(call: RequestContext, route: string, error: unknown): void {
      if (watchers().length > 0)
        void notifyWatchers(createAttempt(call, route, failureOutcome(error, call)));
    },
  };
}

function failureOutcome(failure: unknown, { id }: RequestContext): Outcome {
  const error = publicError(failure, id);
  return { status: error.status, error };
}

function createAttempt(call: RequestContext, route: string, outcome: Outcome): ChangeAttempt {
  const { status, error, before, after, result, configuration = [] } = outcome;
  return {
    requestId: call.id,
    origin: describeOrigin(call),
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
