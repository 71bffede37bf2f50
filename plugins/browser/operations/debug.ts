/** Debugging data of a page: console, errors, requests, response bodies; and traces. */
import { stat } from "node:fs/promises";
import { isPorticoError } from "portico";
import { errors } from "../errors.ts";
import { openConfined } from "../files/confine.ts";
import { remainingMs, withTimeout } from "../deadline.ts";
import { toPublicError } from "../failures.ts";
import type { Response } from "../drivers/playwright.ts";
import type { ConsoleEntry } from "../tab/watch.ts";
import { createUrlMatcher } from "../tab/url-match.ts";
import { checkPath, getTmpDir } from "../files/placed-files.ts";
import { type CommonInput, type Op, getReadableTab } from "../op.ts";

const SEVERITY: readonly ConsoleEntry["level"][] = ["debug", "info", "warning", "error"];
const LEVEL_NAMES = new Map<string, ConsoleEntry["level"]>([
  ["debug", "debug"],
  ["info", "info"],
  ["log", "info"],
  ["warning", "warning"],
  ["warn", "warning"],
  ["error", "error"],
]);

/** Returns the console messages of at least a level. */
export async function listConsoleMessages(
  op: Op,
  input: CommonInput & { level?: string; clear?: boolean },
): Promise<object> {
  const level = input.level === undefined ? "debug" : LEVEL_NAMES.get(input.level);
  if (level === undefined) throw errors.badLevel({ param: "level" });
  const tab = await getReadableTab(op, input.targetId, input.timeoutMs);
  const messages = tab.watch.console
    .list()
    .filter((entry) => SEVERITY.indexOf(entry.level) >= SEVERITY.indexOf(level));
  if (input.clear) tab.watch.console.clear();
  return { ok: true, targetId: tab.targetId, messages };
}

export async function listPageErrors(
  op: Op,
  input: CommonInput & { clear?: boolean },
): Promise<object> {
  const tab = await getReadableTab(op, input.targetId, input.timeoutMs);
  const errors = tab.watch.errors.list();
  if (input.clear) tab.watch.errors.clear();
  return { ok: true, targetId: tab.targetId, errors };
}

/** Returns the requests whose address contains `filter` or matches it as a glob. */
export async function listRequests(
  op: Op,
  input: CommonInput & { filter?: string; clear?: boolean },
): Promise<object> {
  const tab = await getReadableTab(op, input.targetId, input.timeoutMs);
  const matches =
    input.filter === undefined || input.filter === "" ? () => true : createUrlMatcher(input.filter);
  const requests = tab.watch.requests.list().filter(({ url }) => matches(url));
  if (input.clear) tab.watch.requests.clear();
  return { ok: true, targetId: tab.targetId, requests };
}

interface ResponseBodyInput extends CommonInput {
  url: string;
  maxChars?: number;
  /** Waits for a new response instead of returning an earlier one. */
  next?: boolean;
}

const BODY_TIMEOUT_MS = 20_000;
const DEFAULT_BODY_CHARS = 200_000;
/** The maximum size of a body in bytes, since a body is read into memory as a whole. */
const MAX_BODY_BYTES = 50 << 20;

async function readBody(response: Response, maxChars: number, timeoutMs: number): Promise<object> {
  const headers = await response.allHeaders();
  if (Number(headers["content-length"]) > MAX_BODY_BYTES) {
    throw errors.bodyTooLarge({ bytes: Number(headers["content-length"]) });
  }
  const body = await withTimeout(timeoutMs, "Reading the body", response.body());
  const isText =
    /^(text\/|application\/(.*json|.*xml|javascript|x-www-form-urlencoded|graphql))/i.test(
      headers["content-type"] ?? "text/plain",
    );
  const text = isText ? body.toString("utf8") : body.toString("base64");
  const truncated = text.length > maxChars;
  return {
    url: response.url(),
    status: response.status(),
    headers,
    body: truncated ? text.slice(0, maxChars) : text,
    ...(isText ? {} : { encoding: "base64" }),
    truncated,
  };
}

/** Returns the body of the newest matching response of the tab, else of the next one. */
export async function readResponseBody(op: Op, input: ResponseBodyInput): Promise<object> {
  const tab = await getReadableTab(op, input.targetId, input.timeoutMs);
  const start = Date.now();
  const { timeoutMs = BODY_TIMEOUT_MS, maxChars = DEFAULT_BODY_CHARS } = input;
  const url = input.url.slice(0, 200);
  const what = `Waiting for a response from ${url}`;
  const matches = createUrlMatcher(input.url);
  const earlierResponse = input.next ? undefined : tab.watch.lastResponse(matches);
  const read = (response: Response) => readBody(response, maxChars, remainingMs(start, timeoutMs));
  let resolveNext = (_response: Response): void => {};
  const nextBody = new Promise<Response>((resolve) => {
    resolveNext = resolve;
  }).then(read);
  const onResponse = (response: Response): void => {
    if (matches(response.url())) resolveNext(response);
  };
  // The browser may have discarded the body of the earlier response. A response that arrives meanwhile is not missed.
  const earlierBody =
    earlierResponse &&
    read(earlierResponse).catch((error) =>
      isPorticoError(error) ? Promise.reject(error) : nextBody,
    );
  tab.page.on("response", onResponse);
  try {
    const response = await withTimeout(
      timeoutMs,
      what,
      tab.whileAlive(Promise.race([earlierBody ?? nextBody, nextBody])),
      ({ ms }) => errors.noResponse({ url, ms }),
    );
    return { ok: true, targetId: tab.targetId, response };
  } catch (error) {
    throw toPublicError(error, what);
  } finally {
    tab.page.off("response", onResponse);
  }
}

interface TraceStartInput extends CommonInput {
  screenshots?: boolean;
  snapshots?: boolean;
  sources?: boolean;
}

/**
 * Starts to record all tabs of the profile. Rejects with a 409 `trace_running` if a trace is already being recorded.
 */
export function handleTraceStart(op: Op, input: TraceStartInput): Promise<object> {
  return op.session.queues.run("trace", () => startTrace(op, input));
}

async function startTrace(op: Op, input: TraceStartInput): Promise<object> {
  const { session } = op;
  const { context } = session;
  if (session.isTracing) throw errors.traceRunning();
  session.isTracing = true;
  try {
    const { screenshots = true, snapshots = true, sources = false } = input;
    await withTimeout(
      15_000,
      "Starting the trace",
      context.tracing.start({ screenshots, snapshots, sources }),
    );
  } catch (error) {
    session.isTracing = false;
    throw toPublicError(error, "Starting the trace");
  }
  return { ok: true };
}

interface TraceStopInput extends CommonInput {
  path?: string;
}

/** Ends the trace and returns the path of its zip file below the temporary root. */
export function handleTraceStop(op: Op, input: TraceStopInput): Promise<object> {
  return op.session.queues.run("trace", () => stopTrace(op, input));
}

async function stopTrace(op: Op, input: TraceStopInput): Promise<object> {
  await checkPath(op, "", input.path);
  const { session } = op;
  const { context } = session;
  if (!session.isTracing) throw errors.traceNotRunning();
  const root = await getTmpDir(op);
  const name = input.path ?? `trace-${op.profile.name}-${Date.now()}.zip`;
  const file = await openConfined(root, name, op.deps.whyProtected);
  try {
    await withTimeout(
      input.timeoutMs ?? 60_000,
      "Writing the trace",
      context.tracing.stop({ path: file.temporary }),
    );
    session.isTracing = false;
    const { size } = await stat(file.temporary);
    return { ok: true, path: await file.commit(), bytes: size };
  } catch (error) {
    session.isTracing = false;
    await file.discard();
    throw toPublicError(error, "Writing the trace");
  }
}
