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
  type PorticoError,
  reply,
  type Throttle,
} from "portico";
import type { KnownKey, Take } from "portico/store";
import { type Admission, admitted, identify } from "./admission.ts";
import { errors } from "../errors.ts";
import { deliveryId, hashOf, headersOf, queryOf } from "./content.ts";
import { checkAddress, presentedToken } from "./credentials.ts";
import type { DeliveryLog } from "../log/delivery-log.ts";
import { limited, limitHeaders, type LimitState } from "./limit.ts";
import type { Samples } from "../mappings/samples.ts";
import { finishResponse, type PreparedResponse } from "../mappings/respond.ts";
import { type Plan, type Planner, readTarget, type Target } from "../plan.ts";
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
  const intake = new Intake(options);
  return (call) => intake.handle(call);
}

/** The rate limit that a request counts against. */
interface Bucket {
  key: string;
  max: number;
  windowMs: number;
}

/** What a request is counted by: the key that tells repeats, and the rate limit. */
interface Counted {
  key: string | undefined;
  bucket: Bucket;
  /** Key and limit are looked up before the plan is made. Otherwise they are checked as its job is stored. */
  isAskedFirst: boolean;
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
      headers: headersOf(call.req),
      query: queryOf(call),
    };
    try {
      const { status, body, headers } =
        target.kind === "status" ? await this.#lookUp(visit, target) : await this.#take(visit);
      const limits = limitHeaders(visit.limit ?? refusals.look(call.address));
      return reply(status, body, { ...headers, ...limits });
    } catch (error) {
      await this.#noteRefusal(visit, error);
      throw error;
    }
  }

  async #noteRefusal(visit: Visit, error: unknown): Promise<void> {
    const code = isPorticoError(error) ? error.code : undefined;
    if (code === "client_closed") return;
    const limit = await this.#limitAfter(visit, error);
    for (const [name, value] of Object.entries(limitHeaders(limit)))
      visit.call.res.setHeader(name, value);
    // A client that keeps guessing gets no further room in the log. An accepted request stays so, however its turn ends.
    if (visit.isLogged || code === "too_many_attempts") return;
    this.#options.log.note(refusedRow(visit, error));
  }

  async #lookUp(visit: Visit, target: Target & { kind: "status" }): Promise<Response> {
    const { ctx, refusals } = this.#options;
    const { call, settings } = visit;
    if (call.method !== "GET" && call.method !== "HEAD")
      throw methodNotAllowed(call.method, "GET, HEAD");
    visit.credential = admitted(visit, presentedToken(settings, call.req), refusals);
    visit.limit = await this.#peek(visit.credential);
    const { what, id } = target;
    const stateOf = what === "events" ? eventState : turnState;
    const state = await stateOf(ctx, id, visit.credential);
    const kind = what === "events" ? "event" : "turn";
    if (!state) throw errors.unknownEvent({ kind, id: id.slice(0, 100) });
    return { status: 200, body: { status: 200, ...state } };
  }

  async #take(visit: Visit): Promise<Response> {
    const { call, target } = visit;
    const methods = target.mapping?.config.methods ?? ["POST"];
    if (target.kind !== "unknown" && !methods.includes(call.method as "POST"))
      throw methodNotAllowed(call.method, methods.join(", "));
    if (target.kind === "mapping" && isQuestion(call.method, target.mapping))
      return this.#answerQuestion(visit, target.mapping);
    const unreadable = await this.#readRaw(visit);
    const admission = identify(visit, this.#options.refusals);
    visit.credential = admission.credential;
    if (target.kind === "unknown") throw refuseUnknown(visit);
    const counted = countedBy(visit, admission);
    const known = counted.isAskedFirst ? await this.#askFirst(visit, counted) : undefined;
    if (known) return known;
    try {
      if (unreadable) throw unreadable;
      visit.plan = await this.#plan(visit, admission);
    } catch (error) {
      // A repeat gets its first answer again, and a refusal counts against the limit.
      const repeat = counted.isAskedFirst ? undefined : await this.#askFirst(visit, counted);
      if (repeat) return repeat;
      throw error;
    }
    return this.#accept(visit, visit.plan, admission.credential, counted);
  }

  async #plan(visit: Visit, admission: Admission): Promise<Plan> {
    const { planner, samples } = this.#options;
    const { call, target, settings } = visit;
    if (target.kind === "wake" || target.kind === "agent") checkJsonType(call.req);
    const bytes = visit.raw ?? Buffer.alloc(0);
    const type = call.req.headers["content-type"];
    const reading = await planner.read(target, { bytes, type, limits: call.limits });
    const plan = await planner.plan(target, requestOf(visit, reading), admission);
    if (!plan.challenge)
      samples.offer(plan.source, plan.request, plan.mismatch === undefined, settings.secrets);
    return plan;
  }

  /** Stores the job with its row of the delivery log, and answers only when both are on stable storage. */
  async #accept(
    visit: Visit,
    { job, source, request }: Plan,
    credential: Credential,
    { key, bucket, isAskedFirst }: Counted,
  ): Promise<Response> {
    const { ctx, log } = this.#options;
    const first: FirstAnswer = {
      status: job.status,
      body: job.body,
      itemId: job.itemId,
      waitFor: job.wait ? job.turnId : undefined,
      respond: job.respond,
    };
    const row = acceptedRow(visit, job);
    const { duplicate, limit } = await this.#store.enqueue({
      dedup: key === undefined ? undefined : { key, ttlMs: REMEMBERED_MS, answer: first },
      limit: isAskedFirst ? undefined : bucket,
      items: startedBy(credential, job.items),
      deliveries: [row],
    });
    visit.limit = limit ?? visit.limit;
    if (duplicate) return this.#repeat(visit, duplicate);
    if (limit?.allowed === false) throw limited(limit);
    log.written(row);
    visit.isLogged = true;
    const { address } = visit.call;
    const { secrets } = visit.settings;
    announceDelivery(ctx, { id: row.id, job, source, request, address, secrets });
    return this.#answer(visit, first);
  }

  /**
   * Answers a sender that asks whether the address is ours, and starts nothing. It sends no body, so it cannot sign one:
   * a mapping that checks signatures answers without a credential, and the conditions on header and query still hold.
   */
  #answerQuestion(visit: Visit, mapping: Mapping): Response {
    const { call, settings } = visit;
    checkAddress(settings, call.address);
    if (!mapping.verifier)
      visit.credential = admitted(
        visit,
        presentedToken(settings, call.req),
        this.#options.refusals,
      );
    const request = requestOf(visit, { body: {} });
    const mismatch = mapping.match?.mismatchWithoutBody(request);
    if (mismatch) throw errors.questionMismatch({ path: mismatch.path });
    if (!mapping.respond) return { status: 200 };
    const { status, headers, body } = finishResponse(mapping.respond.prepare(request, {}));
    const ownHeaders: Record<string, string> = { "x-content-type-options": "nosniff" };
    if (typeof body === "string") ownHeaders["content-type"] = "text/plain; charset=utf-8";
    return { status, body, headers: { ...ownHeaders, ...headers } };
  }

  /** Returns the first answer where the key is known. Otherwise takes one from the limit, or throws `rate_limit_exceeded`. */
  async #askFirst(visit: Visit, { key, bucket }: Counted): Promise<Response | undefined> {
    const known = key === undefined ? undefined : await this.#store.known(key);
    if (known) {
      visit.limit = await this.#store.take(bucket.key, 0, bucket.max, bucket.windowMs);
      return this.#repeat(visit, known);
    }
    const take = await this.#store.take(bucket.key, 1, bucket.max, bucket.windowMs);
    visit.limit = take;
    if (!take.allowed) throw limited(take);
    return undefined;
  }

  #repeat(visit: Visit, { answer }: KnownKey): Promise<Response> {
    const first = answer as FirstAnswer;
    this.#options.log.note(duplicateRow(visit, first.itemId));
    visit.isLogged = true;
    return this.#answer(visit, first);
  }

  async #answer(
    { call }: Visit,
    { status, body, waitFor, respond }: FirstAnswer,
  ): Promise<Response> {
    if (waitFor === undefined) return respond ? finishResponse(respond) : { status, body };
    const agent = this.#options.ctx.use("agent");
    const options = { signal: call.signal, refusedAtOnce: true };
    const end = agent.endOf(await agent.waitFor(waitFor, options));
    return respond ? finishResponse(respond, end?.result) : { status, body: end ?? body };
  }

  /** Reads the body. Returns the error of one that cannot be decompressed: it is refused after the credentials. */
  async #readRaw(visit: Visit): Promise<PorticoError | undefined> {
    try {
      visit.raw = await visit.call.body();
      const wire = await visit.call.wireBody();
      if (wire !== visit.raw) visit.wire = wire;
      return undefined;
    } catch (error) {
      if (isPorticoError(error) && UNREADABLE.has(error.code)) return error;
      throw error;
    }
  }

  /** What the headers of a refusal say about limits. */
  async #limitAfter(visit: Visit, error: unknown): Promise<LimitState> {
    const { refusals } = this.#options;
    const ofAddress = refusals.look(visit.call.address);
    if (visit.limit) return visit.limit;
    // A store that has just failed is not asked again.
    if (isPorticoError(error) && error.status >= 500) return ofAddress;
    const credential =
      visit.credential ?? presentedToken(visit.settings, visit.call.req).credential;
    if (credential === undefined) return ofAddress;
    return this.#peek(credential).catch(() => ofAddress);
  }

  #peek({ name, limit }: Credential): Promise<Take> {
    return this.#store.take(`webhook:${name}`, 0, limit.maxRequests, limit.windowMs);
  }

  get #store() {
    return this.#options.ctx.use("store");
  }
}

function countedBy(visit: Visit, { credential, mapping }: Admission): Counted {
  const { maxRequests, windowMs } = credential.limit;
  const { kind } = visit.target;
  const hasTransform = visit.target.mapping?.config.transform !== undefined;
  return {
    key: keyOf(visit, credential, mapping),
    bucket: { key: `webhook:${credential.name}`, max: maxRequests, windowMs },
    // A transform must not run for a request that starts nothing.
    isAskedFirst: kind === "root" || hasTransform,
  };
}

/** What tells that a request is a repeat; undefined where its sender names nothing. */
function keyOf(
  { call, headers, raw = Buffer.alloc(0), target }: Visit,
  { name }: Credential,
  mapping: Mapping | undefined,
): string | undefined {
  const id = deliveryId(headers, raw, () => jsonOf(raw, call.limits), mapping?.verifier);
  return id === undefined ? undefined : `webhook:${name}:${target.path}:${hashOf(id)}`;
}

function refuseUnknown({ call, target, settings }: Visit): PorticoError {
  return settings.broken.has(target.path)
    ? errors.brokenMapping({ name: target.path }, { headers: { "retry-after": "60" } })
    : errors.nothingHere({ path: call.path.slice(0, 200) });
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
  return errors.methodNotAllowed({ method, allowed: allow }, { headers: { allow } });
}
