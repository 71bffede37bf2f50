/**
 * Handles a webhook from the request to the response. The order of checks is: method, size, credentials or signature,
 * remembered idempotency key, rate limit, content type, JSON, schema. The response is 200 only after everything is on
 * stable storage.
 */
import {
  type BodyLimits,
  type Call,
  checkJsonType,
  isPorticoError,
  parseJson,
  type PluginContext,
  type PorticoError,
  reply,
  type Throttle,
} from "portico";
import type { KnownKey, Take } from "portico/store";
import { type Admission, requireCredential, identify } from "./admission.ts";
import { errors } from "../errors.ts";
import { findDeliveryId, computeHash, readHeaders, readQuery } from "./content.ts";
import { checkAddress, checkToken } from "./credentials.ts";
import type { DeliveryLog } from "../log/delivery-log.ts";
import { rateLimitError, createLimitHeaders, type LimitState } from "./limit.ts";
import type { Samples } from "../mappings/samples.ts";
import { finishResponse, type PreparedResponse } from "../mappings/respond.ts";
import { type Plan, type Planner, readTarget, type Target } from "../plan.ts";
import { announceDelivery } from "../log/received.ts";
import type { Credential, Mapping, Settings } from "../settings.ts";
import { readEventState, markCaller, readTurnState } from "./status.ts";
import {
  createAcceptedRow,
  createDuplicateRow,
  createRefusedRow,
  toRequest,
  type Visit,
} from "./visit.ts";

const KEY_TTL_MS = 24 * 3_600_000;
/** The error codes of a body with an unsupported compression or invalid bytes. */
const BODY_ERRORS = new Set(["unsupported_media_type", "invalid_request_error"]);

/** The stored response to a key, or the turn whose result completes it. */
interface FirstResponse {
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
  /** Counts refused credentials by address. It never slows down callers with valid credentials. */
  refusals: Throttle;
  log: DeliveryLog;
  planner: Planner;
  samples: Samples;
}

export function createIntake(options: IntakeOptions): (call: Call) => Promise<unknown> {
  const intake = new Intake(options);
  return (call) => intake.handle(call);
}

/** The rate limit that a request counts against. */
interface Bucket {
  key: string;
  max: number;
  windowMs: number;
}

/** The idempotency key and the rate limit of a request. */
interface RequestCount {
  key: string | undefined;
  bucket: Bucket;
  /** True if key and limit are checked before the request is planned; otherwise they are checked when its job is stored. */
  isCheckedFirst: boolean;
}

class Intake {
  readonly #options: IntakeOptions;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  async handle(call: Call): Promise<unknown> {
    const { refusals } = this.#options;
    const settings = this.#options.settings();
    const target = readTarget(call.path, settings);
    const visit: Visit = {
      call,
      target,
      settings,
      headers: readHeaders(call.req),
      query: readQuery(call),
    };
    try {
      const { status, body, headers } =
        target.kind === "status"
          ? await this.#showStatus(visit, target)
          : await this.#receive(visit);
      const limits = createLimitHeaders(visit.limit ?? refusals.look(call.address));
      return reply(status, body, { ...headers, ...limits });
    } catch (error) {
      await this.#recordRefusal(visit, error);
      throw error;
    }
  }

  async #recordRefusal(visit: Visit, error: unknown): Promise<void> {
    const code = isPorticoError(error) ? error.code : undefined;
    if (code === "client_closed") return;
    const limit = await this.#limitOfRefusal(visit, error);
    for (const [name, value] of Object.entries(createLimitHeaders(limit)))
      visit.call.res.setHeader(name, value);
    // A client that keeps guessing adds no further rows to the log. An accepted request has its row, however its turn ends.
    if (visit.isLogged || code === "too_many_attempts") return;
    this.#options.log.add(createRefusedRow(visit, error));
  }

  async #showStatus(visit: Visit, target: Target & { kind: "status" }): Promise<Response> {
    const { ctx, refusals } = this.#options;
    const { call, settings } = visit;
    if (call.method !== "GET" && call.method !== "HEAD")
      throw methodNotAllowed(call.method, "GET, HEAD");
    visit.credential = requireCredential(visit, checkToken(settings, call.req), refusals);
    visit.limit = await this.#readLimit(visit.credential);
    const { what, id } = target;
    const readState = what === "events" ? readEventState : readTurnState;
    const state = await readState(ctx, id, visit.credential);
    const kind = what === "events" ? "event" : "turn";
    if (!state) throw errors.unknownEvent({ kind, id: id.slice(0, 100) });
    return { status: 200, body: { status: 200, ...state } };
  }

  async #receive(visit: Visit): Promise<Response> {
    const { call, target } = visit;
    const methods = target.mapping?.config.methods ?? ["POST"];
    if (target.kind !== "unknown" && !methods.includes(call.method as "POST"))
      throw methodNotAllowed(call.method, methods.join(", "));
    if (target.kind === "mapping" && isProbe(call.method, target.mapping))
      return this.#respondToProbe(visit, target.mapping);
    const bodyError = await this.#readRaw(visit);
    const admission = identify(visit, this.#options.refusals);
    visit.credential = admission.credential;
    if (target.kind === "unknown") throw refuseUnknown(visit);
    const count = createCount(visit, admission);
    const earlier = count.isCheckedFirst ? await this.#checkFirst(visit, count) : undefined;
    if (earlier) return earlier;
    try {
      if (bodyError) throw bodyError;
      visit.plan = await this.#plan(visit, admission);
    } catch (error) {
      // A repeated request gets the first response again, and a refused request counts against the limit.
      const repeat = count.isCheckedFirst ? undefined : await this.#checkFirst(visit, count);
      if (repeat) return repeat;
      throw error;
    }
    return this.#accept(visit, visit.plan, admission.credential, count);
  }

  async #plan(visit: Visit, admission: Admission): Promise<Plan> {
    const { planner, samples } = this.#options;
    const { call, target, settings } = visit;
    if (target.kind === "wake" || target.kind === "agent") checkJsonType(call.req);
    const bytes = visit.raw ?? Buffer.alloc(0);
    const type = call.req.headers["content-type"];
    const reading = await planner.read(target, { bytes, type, limits: call.limits });
    const plan = await planner.plan(target, toRequest(visit, reading), admission);
    if (!plan.challenge)
      samples.offer(plan.source, plan.request, plan.mismatch === undefined, settings.secrets);
    return plan;
  }

  /** Stores the job with its row of the delivery log, and responds only when both are on stable storage. */
  async #accept(
    visit: Visit,
    { job, source, request }: Plan,
    credential: Credential,
    { key, bucket, isCheckedFirst }: RequestCount,
  ): Promise<Response> {
    const { ctx, log } = this.#options;
    const response: FirstResponse = {
      status: job.status,
      body: job.body,
      itemId: job.itemId,
      waitFor: job.wait ? job.turnId : undefined,
      respond: job.respond,
    };
    const row = createAcceptedRow(visit, job);
    const { duplicate, limit } = await this.#store.enqueue({
      dedup: key === undefined ? undefined : { key, ttlMs: KEY_TTL_MS, answer: response },
      limit: isCheckedFirst ? undefined : bucket,
      items: markCaller(credential, job.items),
      deliveries: [row],
    });
    visit.limit = limit ?? visit.limit;
    if (duplicate) return this.#respondAgain(visit, duplicate);
    if (limit?.allowed === false) throw rateLimitError(limit);
    log.announce(row);
    visit.isLogged = true;
    const { address } = visit.call;
    const { secrets } = visit.settings;
    announceDelivery(ctx, { id: row.id, job, source, request, address, secrets });
    return this.#respond(visit, response);
  }

  /**
   * Responds to a sender that only verifies the address, and starts nothing. Such a request has no body that could be signed,
   * so a mapping that verifies signatures responds without a credential. The conditions on headers and query still apply.
   */
  #respondToProbe(visit: Visit, mapping: Mapping): Response {
    const { call, settings } = visit;
    checkAddress(settings, call.address);
    if (!mapping.verifier)
      visit.credential = requireCredential(
        visit,
        checkToken(settings, call.req),
        this.#options.refusals,
      );
    const request = toRequest(visit, { body: {} });
    const mismatch = mapping.match?.mismatchWithoutBody(request);
    if (mismatch) throw errors.questionMismatch({ path: mismatch.path });
    if (!mapping.respond) return { status: 200 };
    const { status, headers, body } = finishResponse(mapping.respond.prepare(request, {}));
    const ownHeaders: Record<string, string> = { "x-content-type-options": "nosniff" };
    if (typeof body === "string") ownHeaders["content-type"] = "text/plain; charset=utf-8";
    return { status, body, headers: { ...ownHeaders, ...headers } };
  }

  /** Returns the first response if the key is remembered. Otherwise counts the request, or throws `rate_limit_exceeded`. */
  async #checkFirst(visit: Visit, { key, bucket }: RequestCount): Promise<Response | undefined> {
    const repeated = key === undefined ? undefined : await this.#store.known(key);
    if (repeated) {
      visit.limit = await this.#store.take(bucket.key, 0, bucket.max, bucket.windowMs);
      return this.#respondAgain(visit, repeated);
    }
    const take = await this.#store.take(bucket.key, 1, bucket.max, bucket.windowMs);
    visit.limit = take;
    if (!take.allowed) throw rateLimitError(take);
    return undefined;
  }

  #respondAgain(visit: Visit, { answer }: KnownKey): Promise<Response> {
    const response = answer as FirstResponse;
    this.#options.log.add(createDuplicateRow(visit, response.itemId));
    visit.isLogged = true;
    return this.#respond(visit, response);
  }

  async #respond(
    { call }: Visit,
    { status, body, waitFor, respond }: FirstResponse,
  ): Promise<Response> {
    if (waitFor === undefined) return respond ? finishResponse(respond) : { status, body };
    const agent = this.#options.ctx.use("agent");
    const options = { signal: call.signal, refusedAtOnce: true };
    const end = agent.endOf(await agent.waitFor(waitFor, options));
    return respond ? finishResponse(respond, end?.result) : { status, body: end ?? body };
  }

  /** Reads the body. Returns an error of decompression instead of throwing it, since credentials are checked before it. */
  async #readRaw(visit: Visit): Promise<PorticoError | undefined> {
    try {
      visit.raw = await visit.call.body();
      const wire = await visit.call.wireBody();
      if (wire !== visit.raw) visit.wire = wire;
      return undefined;
    } catch (error) {
      if (isPorticoError(error) && BODY_ERRORS.has(error.code)) return error;
      throw error;
    }
  }

  /** Returns the state of the limit for the headers of a refusal. */
  async #limitOfRefusal(visit: Visit, error: unknown): Promise<LimitState> {
    const { refusals } = this.#options;
    const ofAddress = refusals.look(visit.call.address);
    if (visit.limit) return visit.limit;
    // After a failure of the store, this does not ask it again.
    if (isPorticoError(error) && error.status >= 500) return ofAddress;
    const credential = visit.credential ?? checkToken(visit.settings, visit.call.req).credential;
    if (credential === undefined) return ofAddress;
    return this.#readLimit(credential).catch(() => ofAddress);
  }

  #readLimit({ name, limit }: Credential): Promise<Take> {
    return this.#store.take(`webhook:${name}`, 0, limit.maxRequests, limit.windowMs);
  }

  get #store() {
    return this.#options.ctx.use("store");
  }
}

function createCount(visit: Visit, { credential, mapping }: Admission): RequestCount {
  const { maxRequests, windowMs } = credential.limit;
  const { kind } = visit.target;
  const hasTransform = visit.target.mapping?.config.transform !== undefined;
  return {
    key: findIdempotencyKey(visit, credential, mapping),
    bucket: { key: `webhook:${credential.name}`, max: maxRequests, windowMs },
    // A transform must not run for a request that starts nothing.
    isCheckedFirst: kind === "root" || hasTransform,
  };
}

/** Returns the key by which repeats are recognised, or undefined if the request has no id. */
function findIdempotencyKey(
  { call, headers, raw = Buffer.alloc(0), target }: Visit,
  { name }: Credential,
  mapping: Mapping | undefined,
): string | undefined {
  const id = findDeliveryId(headers, raw, () => tryParseJson(raw, call.limits), mapping?.verifier);
  return id === undefined ? undefined : `webhook:${name}:${target.path}:${computeHash(id)}`;
}

function refuseUnknown({ call, target, settings }: Visit): PorticoError {
  return settings.broken.has(target.path)
    ? errors.brokenMapping({ name: target.path }, { headers: { "retry-after": "60" } })
    : errors.nothingHere({ path: call.path.slice(0, 200) });
}

/** Returns whether a request starts nothing: any HEAD, and a GET to a mapping with a response of its own. */
const isProbe = (method: string, { respond }: Mapping): boolean =>
  method === "HEAD" || (method === "GET" && respond !== undefined);

/** Returns `undefined` for a body that is not valid JSON. */
function tryParseJson(raw: Buffer, limits: BodyLimits): unknown {
  try {
    return parseJson(raw, { limits });
  } catch {
    return undefined;
  }
}

function methodNotAllowed(method: string, allow: string): PorticoError {
  return errors.methodNotAllowed({ method, allowed: allow }, { headers: { allow } });
}
