/**
 * A request from outside, from its first byte to its answer. In order: method, size, credentials or signature, a known
 * idempotency key, rate limit, content type, JSON, schema. 200 comes only after everything is on stable storage.
 */
import {
  type BodyLimits,
  type Call,
  checkJsonType,
  isPorticoError,
  parseJson,
  type PluginContext,
  PorticoError,
  reply,
  type Throttle,
} from "portico";
import type { KnownKey, Take } from "portico/store";
import { admitted, identify } from "./admission.ts";
import { deliveryId, hashOf, headersOf, queryOf } from "./content.ts";
import { checkAddress, presentedToken } from "./credentials.ts";
import type { DeliveryLog } from "../log/delivery-log.ts";
import type { Job } from "../jobs.ts";
import { limited, limitHeaders, type LimitState } from "./limit.ts";
import type { Samples } from "../mappings/samples.ts";
import { finished, type PreparedResponse } from "../mappings/respond.ts";
import { type Planner, readTarget, type Target } from "../plan.ts";
import { announceDelivery } from "../log/received.ts";
import type { Credential, Mapping, Settings } from "../settings.ts";
import { eventState, startedBy, turnState } from "./status.ts";
import { acceptedRow, duplicateRow, refusedRow, requestOf, type Visit } from "./visit.ts";

const REMEMBERED_MS = 24 * 3_600_000;
/** Of a compression that is not supported, or of bytes that are broken. */
const UNREADABLE = new Set(["unsupported_media_type", "invalid_request_error"]);

/** What is kept for a key: the answer, or the turn whose end makes it. */
interface FirstAnswer {
  status: number;
  body?: unknown;
  itemId?: string | undefined;
  waitFor?: string | undefined;
  respond?: PreparedResponse | undefined;
}

interface Response {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface IntakeOptions {
  ctx: PluginContext;
  settings(): Settings;
  /** Of refused credentials, by address: guessing costs good callers nothing. */
  refusals: Throttle;
  log: DeliveryLog;
  planner: Planner;
  samples: Samples;
}

export function createIntake(options: IntakeOptions): (call: Call) => Promise<unknown> {
  const { ctx, refusals, log, planner, samples } = options;
  const store = () => ctx.use("store");

  return async function handle(call) {
    const settings = options.settings();
    const target = readTarget(call.path, settings);
    const visit: Visit = {
      call,
      target,
      settings,
      headers: headersOf(call.req),
      query: queryOf(call),
    };
    try {
      const { status, body, headers } =
        target.kind === "status" ? await lookUp(visit, target) : await take(visit);
      const limits = limitHeaders(visit.limit ?? refusals.look(call.address));
      return reply(status, body, headers ? { ...headers, ...limits } : limits);
    } catch (error) {
      if (isPorticoError(error) && error.code === "client_closed") throw error;
      const limit = await stateFor(visit, error);
      for (const [name, value] of Object.entries(limitHeaders(limit)))
        call.res.setHeader(name, value);
      // who goes on guessing gets no more room in the log; what is accepted stays so, however its turn ends
      const isGuess = isPorticoError(error) && error.code === "too_many_attempts";
      if (!visit.isLogged && !isGuess) log.note(refusedRow(visit, error));
      throw error;
    }
  };

  async function lookUp(visit: Visit, target: Target & { kind: "status" }): Promise<Response> {
    const { call, settings } = visit;
    if (call.method !== "GET" && call.method !== "HEAD")
      throw methodNotAllowed(call.method, "GET, HEAD");
    visit.credential = admitted(visit, presentedToken(settings, call.req), refusals);
    visit.limit = await peek(visit.credential);
    const { what, id } = target;
    const state = await (what === "events" ? eventState : turnState)(ctx, id, visit.credential);
    if (!state)
      throw new PorticoError(
        "not_found",
        `There is no ${what.slice(0, -1)} ${id.slice(0, 100)} of a webhook that these credentials may see.`,
      );
    return { status: 200, body: { status: 200, ...state } };
  }

  async function take(visit: Visit): Promise<Response> {
    const { call, target, settings } = visit;
    const methods = target.mapping?.config.methods ?? ["POST"];
    if (target.kind !== "unknown" && !methods.includes(call.method as "POST"))
      throw methodNotAllowed(call.method, methods.join(", "));
    if (target.kind === "mapping" && isQuestion(call.method, target.mapping))
      return answerQuestion(visit, target.mapping);
    const unreadable = await readRaw(visit);
    const admission = identify(visit, refusals);
    const { credential } = admission;
    visit.credential = credential;
    if (target.kind === "unknown" && settings.broken.has(target.path))
      throw new PorticoError(
        "service_unavailable",
        `The mapping ${target.path} is refused: the gateway's log says why.`,
        {
          headers: { "retry-after": "60" },
        },
      );
    if (target.kind === "unknown")
      throw new PorticoError("not_found", `There is nothing at ${call.path.slice(0, 200)}.`);
    const raw = visit.raw ?? Buffer.alloc(0);
    const key = keyOf(visit, raw, admission.mapping);
    const bucket = {
      key: `webhook:${credential.name}`,
      max: credential.limit.maxRequests,
      windowMs: credential.limit.windowMs,
    };
    // A transform must not run for what starts nothing, so it waits until key and limit have been asked.
    const asked = target.kind === "root" || target.mapping?.config.transform !== undefined;
    if (asked) {
      const known = await askFirst(visit, key, bucket);
      if (known) return known;
    }
    let job: Job;
    try {
      if (unreadable) throw unreadable;
      // a wake waits for neither, and each wait costs it as much as reading its body
      if (target.kind === "wake" || target.kind === "agent") checkJsonType(call.req);
      const type = call.req.headers["content-type"];
      const reading = planner.read(target, { bytes: raw, type, limits: call.limits });
      const request = requestOf(visit, reading instanceof Promise ? await reading : reading);
      const plan = planner.plan(target, request, admission);
      visit.plan = plan instanceof Promise ? await plan : plan;
      job = visit.plan.job;
      const { source, challenge, mismatch } = visit.plan;
      if (!challenge) samples.offer(source, visit.plan.request, !mismatch, settings.secrets);
    } catch (error) {
      const known = asked ? undefined : await askFirst(visit, key, bucket);
      if (known) return known;
      throw error;
    }
    const first: FirstAnswer = {
      status: job.status,
      body: job.body,
      itemId: job.itemId,
      waitFor: job.wait ? job.turnId : undefined,
      respond: job.respond,
    };
    const row = acceptedRow(visit, job);
    const { duplicate, limit } = await store().enqueue({
      dedup: key === undefined ? undefined : { key, ttlMs: REMEMBERED_MS, answer: first },
      limit: asked ? undefined : bucket,
      items: startedBy(credential, job.items),
      deliveries: [row],
    });
    visit.limit = limit ?? visit.limit;
    if (duplicate) return repeated(visit, duplicate);
    if (limit?.allowed === false) throw limited(limit);
    log.written(row);
    visit.isLogged = true;
    announceDelivery(ctx, {
      id: row.id,
      job,
      source: visit.plan.source,
      request: visit.plan.request,
      address: call.address,
      secrets: settings.secrets,
    });
    return first.waitFor || first.respond ? answerOf(visit, first) : first;
  }

  /**
   * Answers a sender that asks whether the address is ours, and starts nothing. It sends no body, so it cannot sign one:
   * a mapping that checks signatures answers without a credential, and the conditions on header and query still hold.
   */
  function answerQuestion(visit: Visit, mapping: Mapping): Response {
    const { call, settings } = visit;
    checkAddress(settings, call.address);
    if (!mapping.verifier)
      visit.credential = admitted(visit, presentedToken(settings, call.req), refusals);
    const request = requestOf(visit, { body: {} });
    const mismatch = mapping.match?.mismatchWithoutBody(request);
    if (mismatch)
      throw new PorticoError("forbidden", `The request does not match: see ${mismatch.path}.`);
    if (!mapping.respond) return { status: 200 };
    const { status, headers, body } = finished(mapping.respond.prepare(request, {}));
    const ownHeaders: Record<string, string> = { "x-content-type-options": "nosniff" };
    if (typeof body === "string") ownHeaders["content-type"] = "text/plain; charset=utf-8";
    return { status, body, headers: { ...ownHeaders, ...headers } };
  }

  /** The first answer to a key that is known; else one from the limit. Throws `rate_limit_exceeded`. */
  async function askFirst(
    visit: Visit,
    key: string | undefined,
    bucket: { key: string; max: number; windowMs: number },
  ): Promise<Response | undefined> {
    const known = key === undefined ? undefined : await store().known(key);
    if (known) {
      visit.limit = await store().take(bucket.key, 0, bucket.max, bucket.windowMs);
      return repeated(visit, known);
    }
    const taken = await store().take(bucket.key, 1, bucket.max, bucket.windowMs);
    visit.limit = taken;
    if (!taken.allowed) throw limited(taken);
    return undefined;
  }

  function repeated(visit: Visit, { answer }: KnownKey): Promise<Response> {
    const first = answer as FirstAnswer;
    log.note(duplicateRow(visit, first.itemId));
    visit.isLogged = true;
    return answerOf(visit, first);
  }

  async function answerOf(
    { call }: Visit,
    { status, body, waitFor, respond }: FirstAnswer,
  ): Promise<Response> {
    const agent = ctx.use("agent");
    const end = waitFor
      ? agent.endOf(await agent.waitFor(waitFor, { signal: call.signal, refusedAtOnce: true }))
      : undefined;
    return respond ? finished(respond, end?.result) : { status, body: end ?? body };
  }

  /** Reads the body. One that cannot be decompressed is refused with its content type, after the credentials. */
  function readRaw(visit: Visit): Promise<PorticoError | undefined> {
    return visit.call.body().then(
      (raw) => {
        visit.raw = raw;
        return undefined;
      },
      (error) => {
        if (isPorticoError(error) && UNREADABLE.has(error.code)) return error;
        throw error;
      },
    );
  }

  function peek({ name, limit }: Credential): Promise<Take> {
    return store().take(`webhook:${name}`, 0, limit.maxRequests, limit.windowMs);
  }

  /** What an answer says about limits when the request came to nothing. */
  async function stateFor(visit: Visit, error: unknown): Promise<LimitState> {
    if (visit.limit) return visit.limit;
    // a store that has just failed is not asked again
    if (isPorticoError(error) && error.status >= 500) return refusals.look(visit.call.address);
    const credential =
      visit.credential ?? presentedToken(visit.settings, visit.call.req).credential;
    return (
      (credential && (await peek(credential).catch(() => undefined))) ??
      refusals.look(visit.call.address)
    );
  }

  function keyOf(visit: Visit, raw: Buffer, mapping: Mapping | undefined): string | undefined {
    const id = deliveryId(
      visit.headers,
      raw,
      () => jsonOf(raw, visit.call.limits),
      mapping?.verifier,
    );
    return id === undefined
      ? undefined
      : `webhook:${visit.credential?.name}:${visit.target.path}:${hashOf(id)}`;
  }
}

/** GET and HEAD ask where the mapping says what to answer; a HEAD never starts anything. */
const isQuestion = (method: string, { respond }: Mapping): boolean =>
  method === "HEAD" || (method === "GET" && respond !== undefined);

/** `undefined` for a body that cannot be read. */
function jsonOf(raw: Buffer, limits: BodyLimits): unknown {
  try {
    return parseJson(raw, { limits });
  } catch {
    return undefined;
  }
}

function methodNotAllowed(method: string, allow: string): PorticoError {
  return new PorticoError("method_not_allowed", `${method} is not taken here. Use ${allow}.`, {
    headers: { allow },
  });
}
