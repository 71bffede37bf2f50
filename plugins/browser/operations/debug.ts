/** What a page said and asked for: console, errors, requests, response bodies; and traces. */
import { stat } from "node:fs/promises";
import { isPorticoError } from "portico";
import { errors } from "../errors.ts";
import { openConfined } from "../files/confine.ts";
import { remainingMs, within } from "../deadline.ts";
import { failure } from "../failures.ts";
import type { Response } from "../drivers/playwright.ts";
import type { ConsoleEntry } from "../tab/watch.ts";
import { urlMatcher } from "../tab/url-match.ts";
import { checkPath, tmpDir } from "../files/placed-files.ts";
import { type Common, type Op, readableTab } from "../op.ts";

const SEVERITY: readonly ConsoleEntry["level"][] = ["debug", "info", "warning", "error"];
const LEVEL_NAMES = new Map<string, ConsoleEntry["level"]>([
  ["debug", "debug"],
  ["info", "info"],
  ["log", "info"],
  ["warning", "warning"],
  ["warn", "warning"],
  ["error", "error"],
]);

/** Messages of at least that level. */
export async function consoleMessages(
  op: Op,
  input: Common & { level?: string; clear?: boolean },
): Promise<object> {
  const level = input.level === undefined ? "debug" : LEVEL_NAMES.get(input.level);
  if (level === undefined) throw errors.badLevel({ param: "level" });
  const tab = await readableTab(op, input.targetId, input.timeoutMs);
  const messages = tab.watch.console
    .list()
    .filter((entry) => SEVERITY.indexOf(entry.level) >= SEVERITY.indexOf(level));
  if (input.clear) tab.watch.console.clear();
  return { ok: true, targetId: tab.targetId, messages };
}

export async function pageErrors(op: Op, input: Common & { clear?: boolean }): Promise<object> {
  const tab = await readableTab(op, input.targetId, input.timeoutMs);
  const errors = tab.watch.errors.list();
  if (input.clear) tab.watch.errors.clear();
  return { ok: true, targetId: tab.targetId, errors };
}

/** Requests whose address holds `filter` (or fits it as a glob). */
export async function requests(
  op: Op,
  input: Common & { filter?: string; clear?: boolean },
): Promise<object> {
  const tab = await readableTab(op, input.targetId, input.timeoutMs);
  const fits =
    input.filter === undefined || input.filter === "" ? () => true : urlMatcher(input.filter);
  const requests = tab.watch.requests.list().filter(({ url }) => fits(url));
  if (input.clear) tab.watch.requests.clear();
  return { ok: true, targetId: tab.targetId, requests };
}

interface ResponseBodyInput extends Common {
  url: string;
  maxChars?: number;
  /** Waits for a new response instead of taking one that has come already. */
  next?: boolean;
}

const BODY_MS = 20_000;
const BODY_CHARS = 200_000;
/** A body is read as a whole: a larger one would only fill the memory. */
const BODY_BYTES = 50 << 20;

async function readBody(response: Response, maxChars: number, timeoutMs: number): Promise<object> {
  const headers = await response.allHeaders();
  if (Number(headers["content-length"]) > BODY_BYTES) {
    throw errors.bodyTooLarge({ bytes: Number(headers["content-length"]) });
  }
  const body = await within(timeoutMs, "Reading the body", response.body());
  const texts =
    /^(text\/|application\/(.*json|.*xml|javascript|x-www-form-urlencoded|graphql))/i.test(
      headers["content-type"] ?? "text/plain",
    );
  const whole = texts ? body.toString("utf8") : body.toString("base64");
  const truncated = whole.length > maxChars;
  return {
    url: response.url(),
    status: response.status(),
    headers,
    body: truncated ? whole.slice(0, maxChars) : whole,
    ...(texts ? {} : { encoding: "base64" }),
    truncated,
  };
}

/** The body of a response: the newest that the tab has seen, else the next one that comes. */
export async function responseBody(op: Op, input: ResponseBodyInput): Promise<object> {
  const tab = await readableTab(op, input.targetId, input.timeoutMs);
  const start = Date.now();
  const { timeoutMs = BODY_MS, maxChars = BODY_CHARS } = input;
  const what = `Waiting for a response of ${input.url.slice(0, 200)}`;
  const fits = urlMatcher(input.url);
  const earlierResponse = input.next ? undefined : tab.watch.lastResponse(fits);
  const read = (response: Response) => readBody(response, maxChars, remainingMs(start, timeoutMs));
  let takeResponse = (_response: Response): void => {};
  const next = new Promise<Response>((resolve) => {
    takeResponse = resolve;
  }).then(read);
  const look = (response: Response): void => {
    if (fits(response.url())) takeResponse(response);
  };
  // The browser may have dropped the body of the seen one. The one that comes while it is asked for it is not missed.
  const last =
    earlierResponse &&
    read(earlierResponse).catch((error) => (isPorticoError(error) ? Promise.reject(error) : next));
  tab.page.on("response", look);
  try {
    const response = await within(
      timeoutMs,
      what,
      tab.whileAlive(Promise.race([last ?? next, next])),
    );
    return { ok: true, targetId: tab.targetId, response };
  } catch (error) {
    throw failure(error, what);
  } finally {
    tab.page.off("response", look);
  }
}

interface TraceStartInput extends Common {
  screenshots?: boolean;
  snapshots?: boolean;
  sources?: boolean;
}

/** Records all tabs of the profile. 409 `trace_running` where one is recorded already. */
export function traceStart(op: Op, input: TraceStartInput): Promise<object> {
  return op.session.turns.take("trace", () => startTrace(op, input));
}

async function startTrace(op: Op, input: TraceStartInput): Promise<object> {
  const { session } = op;
  const { context } = session;
  if (session.tracing) throw errors.traceRunning();
  session.tracing = true;
  try {
    const { screenshots = true, snapshots = true, sources = false } = input;
    await within(
      15_000,
      "Starting the trace",
      context.tracing.start({ screenshots, snapshots, sources }),
    );
  } catch (error) {
    session.tracing = false;
    throw failure(error, "Starting the trace");
  }
  return { ok: true };
}

interface TraceStopInput extends Common {
  path?: string;
}

/** Ends the trace and answers the zip file's path, under the temporary root. */
export function traceStop(op: Op, input: TraceStopInput): Promise<object> {
  return op.session.turns.take("trace", () => stopTrace(op, input));
}

async function stopTrace(op: Op, input: TraceStopInput): Promise<object> {
  await checkPath(op, "", input.path);
  const { session } = op;
  const { context } = session;
  if (!session.tracing) throw errors.traceNotRunning();
  const root = await tmpDir(op);
  const name = input.path ?? `trace-${op.profile.name}-${Date.now()}.zip`;
  const file = await openConfined(root, name, op.deps.whyProtected);
  try {
    await within(
      input.timeoutMs ?? 60_000,
      "Writing the trace",
      context.tracing.stop({ path: file.temporary }),
    );
    session.tracing = false;
    const { size } = await stat(file.temporary);
    return { ok: true, path: await file.commit(), bytes: size };
  } catch (error) {
    session.tracing = false;
    await file.discard();
    throw failure(error, "Writing the trace");
  }
}
