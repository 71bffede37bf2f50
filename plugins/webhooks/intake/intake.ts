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
  type IncomingRequest,
} from "./incoming-request.ts";

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
  /** True if key and limit are checked before the request is planned; otherwise they are checked when its work is stored. */
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
    const incoming: IncomingRequest = {
      call,
      target,
      settings,
      headers: readHeaders(call.req),
      query: readQuery(call),
    };
    try {
      const { status, body, headers } =
        target.kind === "status"
          ? await this.#showStatus(incoming, target)
          : await this.#receive(incoming);
      const limits = createLimitHeaders(incoming.limit ?? refusals.look(call.address));
      return reply(status, body, { ...headers, ...limits });
    } catch (error) {
      await this.#recordRefusal(incoming, error);
      throw error;
    }
  }

  async #recordRefusal(incoming: IncomingRequest, error: unknown): Promise<void> {
    const code = isPorticoError(error) ? error.code : undefined;
    if (code === "client_closed") return;
    const limit = await this.#limitOfRefusal(incoming, error);
    for (const [name, value] of Object.entries(createLimitHeaders(limit)))
      incoming.call.res.setHeader(name, value);
    // A client that keeps guessing adds no further rows to the log. An accepted request has its row, however its turn ends.
    if (incoming.isLogged || code === "too_many_attempts") return;
    this.#options.log.add(createRefusedRow(incoming, error));
  }

  async #showStatus(
    incoming: IncomingRequest,
    target: Target & { kind: "status" },
  ): Promise<Response> {
    const { ctx, refusals } = this.#options;
    const { call, settings } = incoming;
    if (call.method !== "GET" && call.method !== "HEAD")
      throw methodNotAllowed(call.method, "GET, HEAD");
    incoming.credential = requireCredential(incoming, checkToken(settings, call.req), refusals);
    incoming.limit = await this.#readLimit(incoming.credential);
    const { what, id } = target;
    const readState = what === "events" ? readEventState : readTurnState;
    const state = await readState(ctx, id, incoming.credential);
    const kind = what === "events" ? "event" : "turn";
    if (!state) throw errors.unknownEvent({ kind, id: id.slice(0, 100) });
    return { status: 200, body: { status: 200, ...state } };
  }

  async #receive(incoming: IncomingRequest): Promise<Response> {
    const { call, target } = incoming;
    const methods = target.mapping?.config.methods ?? ["POST"];
    if (target.kind !== "unknown" && !methods.includes(call.method as "POST"))
      throw methodNotAllowed(call.method, methods.join(", "));
    if (target.kind === "mapping" && isProbe(call.method, target.mapping))
      return this.#respondToProbe(incoming, target.mapping);
    const bodyError = await this.#readRaw(incoming);
    const admission = identify(incoming, this.#options.refusals);
    incoming.credential = admission.credential;
    if (target.kind === "unknown") throw refuseUnknown(incoming);
    const count = createCount(incoming, admission);
    const earlier = count.isCheckedFirst ? await this.#checkFirst(incoming, count) : undefined;
    if (earlier) return earlier;
    try {
      if (bodyError) throw bodyError;
      incoming.plan = await this.#plan(incoming, admission);
    } catch (error) {
      // A repeated request gets the first response again, and a refused request counts against the limit.
      const repeat = count.isCheckedFirst ? undefined : await this.#checkFirst(incoming, count);
      if (repeat) return repeat;
      throw error;
    }
    return this.#accept(incoming, incoming.plan, admission.credential, count);
  }

  async #plan(incoming: IncomingRequest, admission: Admission): Promise<Plan> {
    const { planner, samples } = this.#options;
    const { call, target, settings } = incoming;
    if (target.kind === "wake" || target.kind === "agent") checkJsonType(call.req);
    const bytes = incoming.raw ?? Buffer.alloc(0);
    const type = call.req.headers["content-type"];
    const reading = await planner.read(target, { bytes, type, limits: call.limits });
    const plan = await planner.plan(target, toRequest(incoming, reading), admission);
    if (!plan.challenge)
      samples.offer(plan.source, plan.request, plan.mismatch === undefined, settings.secrets);
    return plan;
  }

  /** Stores the work with its row of the delivery log, and responds only when both are on stable storage. */
  async #accept(
    incoming: IncomingRequest,
    { work, source, request }: Plan,
    credential: Credential,
    { key, bucket, isCheckedFirst }: RequestCount,
  ): Promise<Response> {
    const { ctx, log } = this.#options;
    const response: FirstResponse = {
      status: work.status,
      body: work.body,
      itemId: work.itemId,
      waitFor: work.wait ? work.turnId : undefined,
      respond: work.respond,
    };
    const row = createAcceptedRow(incoming, work);
    const { duplicate, limit } = await this.#store.enqueue({
      dedup: key === undefined ? undefined : { key, ttlMs: KEY_TTL_MS, answer: response },
      limit: isCheckedFirst ? undefined : bucket,
      items: markCaller(credential, work.items),
      deliveries: [row],
    });
    incoming.limit = limit ?? incoming.limit;
    if (duplicate) return this.#respondAgain(incoming, duplicate);
    if (limit?.allowed === false) throw rateLimitError(limit);
    log.announce(row);
    incoming.isLogged = true;
    const { address } = incoming.call;
    const { secrets } = incoming.settings;
    announceDelivery(ctx, { id: row.id, work, source, request, address, secrets });
    return this.#respond(incoming, response);
  }

  /**
   * Responds to a sender that only verifies the address, and starts nothing. Such a request has no body that could be signed,
   * so a mapping that verifies signatures responds without a credential. The conditions on headers and query still apply.
   */
  #respondToProbe(incoming: IncomingRequest, mapping: Mapping): Response {
    const { call, settings } = incoming;
    checkAddress(settings, call.address);
    if (!mapping.verifier)
      incoming.credential = requireCredential(
        incoming,
        checkToken(settings, call.req),
        this.#options.refusals,
      );
    const request = toRequest(incoming, { body: {} });
    const mismatch = mapping.match?.mismatchWithoutBody(request);
    if (mismatch) throw errors.questionMismatch({ path: mismatch.path });
    if (!mapping.respond) return { status: 200 };
    const { status, headers, body } = finishResponse(mapping.respond.prepare(request, {}));
    const ownHeaders: Record<string, string> = { "x-content-type-options": "nosniff" };
    if (typeof body === "string") ownHeaders["content-type"] = "text/plain; charset=utf-8";
    return { status, body, headers: { ...ownHeaders, ...headers } };
  }

  /** Returns the first response if the key is remembered. Otherwise counts the request, or throws `rate_limit_exceeded`. */
  async #checkFirst(
    incoming: IncomingRequest,
    { key, bucket }: RequestCount,
  ): Promise<Response | undefined> {
    const repeated = key === undefined ? undefined : await this.#store.known(key);
    if (repeated) {
      incoming.limit = await this.#store.take(bucket.key, 0, bucket.max, bucket.windowMs);
      return this.#respondAgain(incoming, repeated);
    }
    const take = await this.#store.take(bucket.key, 1, bucket.max, bucket.windowMs);
    incoming.limit = take;
    if (!take.allowed) throw rateLimitError(take);
    return undefined;
  }

  #respondAgain(incoming: IncomingRequest, { answer }: KnownKey): Promise<Response> {
    const response = answer as FirstResponse;
    this.#options.log.add(createDuplicateRow(incoming, response.itemId));
    incoming.isLogged = true;
    return this.#respond(incoming, response);
  }

  async #respond(
    { call }: IncomingRequest,
    { status, body, waitFor, respond }: FirstResponse,
  ): Promise<Response> {
    if (waitFor === undefined) return respond ? finishResponse(respond) : { status, body };
    const agent = this.#options.ctx.use("agent");
    const options = { signal: call.signal, refusedAtOnce: true };
    const end = agent.endOf(await agent.waitFor(waitFor, options));
    return respond ? finishResponse(respond, end?.result) : { status, body: end ?? body };
  }

  /** Reads the body. Returns an error of decompression instead of throwing it, since credentials are checked before it. */
  async #readRaw(incoming: IncomingRequest): Promise<PorticoError | undefined> {
    try {
      incoming.raw = await incoming.call.body();
      const wire = await incoming.call.wireBody();
      if (wire !== incoming.raw) incoming.wire = wire;
      return undefined;
    } catch (error) {
      if (isPorticoError(error) && BODY_ERRORS.has(error.code)) return error;
      throw error;
    }
  }

  /** Returns the state of the limit for the headers of a refusal. */
  async #limitOfRefusal(incoming: IncomingRequest, error: unknown): Promise<LimitState> {
    const { refusals } = this.#options;
    const ofAddress = refusals.look(incoming.call.address);
    if (incoming.limit) return incoming.limit;
    // After a failure of the store, this does not ask it again.
    if (isPorticoError(error) && error.status >= 500) return ofAddress;
    const credential =
      incoming.credential ?? checkToken(incoming.settings, incoming.call.req).credential;
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

function createCount(incoming: IncomingRequest, { credential, mapping }: Admission): RequestCount {
  const { maxRequests, windowMs } = credential.limit;
  const { kind } = incoming.target;
  const hasTransform = incoming.target.mapping?.config.transform !== undefined;
  return {
    key: findIdempotencyKey(incoming, credential, mapping),
    bucket: { key: `webhook:${credential.name}`, max: maxRequests, windowMs },
    // A transform must not run for a request that starts nothing.
    isCheckedFirst: kind === "root" || hasTransform,
  };
}

/** Returns the key by which repeats are recognised, or undefined if the request has no id. */
function findIdempotencyKey(
  { call, headers, raw = Buffer.alloc(0), target }: IncomingRequest,
  { name }: Credential,
  mapping: Mapping | undefined,
): string | undefined {
  const id = findDeliveryId(headers, raw, () => tryParseJson(raw, call.limits), mapping?.verifier);
  return id === undefined ? undefined : `webhook:${name}:${target.path}:${computeHash(id)}`;
}

function refuseUnknown({ call, target, settings }: IncomingRequest): PorticoError {
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
