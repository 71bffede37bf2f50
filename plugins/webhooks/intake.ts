/**
 * A request from outside, from its first byte to its answer. In order: method, size, credentials or signature, a known
 * idempotency key, rate limit, content type, JSON, schema. 200 comes only after everything is on stable storage.
 */
import { randomUUID } from "node:crypto";
import {
  type Call,
  isPorticoError,
  type KnownKey,
  type NewDelivery,
  type PluginContext,
  PorticoError,
  reply,
  type Take,
} from "portico";
import { hashOf, deliveryId, headersOf, queryOf } from "./content.ts";
import { checkAddress, type Presented, presentedSignature, presentedToken, unauthorized } from "./credentials.ts";
import type { DeliveryLog } from "./delivery-log.ts";
import type { Job } from "./jobs.ts";
import { maskFields, maskText } from "./mask.ts";
import type { Request } from "./paths.ts";
import { type Plan, type Planner, readTarget, type Target } from "./plan.ts";
import { announceDelivery } from "./received.ts";
import type { Refusals } from "./refusals.ts";
import type { Credential, Mapping, Settings } from "./settings.ts";
import { endOf, eventState, turnState } from "./status.ts";

const REMEMBERED_MS = 24 * 3_600_000;
/** Of a refused request's body; an accepted one is kept whole, to be replayed. */
const REFUSED_PAYLOAD_CHARS = 64 * 1024;

/** What is kept for a key: the answer, or the turn whose end makes it. */
interface FirstAnswer {
  status: number;
  body?: unknown;
  itemId?: string;
  waitFor?: string;
}

export interface IntakeParts {
  ctx: PluginContext;
  settings(): Settings;
  refusals: Refusals;
  log: DeliveryLog;
  planner: Planner;
}

/** One request while it is looked at. */
interface Visit {
  call: Call;
  id: string;
  target: Target;
  settings: Settings;
  headers: Record<string, string>;
  raw?: Buffer;
  credential?: Credential;
  limit?: Take;
  plan?: Plan;
  duplicate?: boolean;
}

export function createIntake(parts: IntakeParts): (call: Call) => Promise<unknown> {
  const { ctx, refusals, log, planner } = parts;
  const store = () => ctx.use("store");

  return async function handle(call) {
    const settings = parts.settings();
    const target = readTarget(call.path, settings);
    const visit: Visit = {
      call,
      id: `del_${randomUUID().replaceAll("-", "")}`,
      target,
      settings,
      headers: headersOf(call.req),
    };
    try {
      const { status, body } = target.kind === "status" ? await lookUp(visit, target) : await take(visit);
      return reply(status, body, limitHeaders(visit.limit ?? refusals.look(call.address)));
    } catch (error) {
      if (isPorticoError(error) && error.code === "client_closed") throw error;
      const limit = await stateFor(visit);
      for (const [name, value] of Object.entries(limitHeaders(limit))) call.res.setHeader(name, value);
      log.note(refusedRow(visit, error));
      throw error;
    }
  };

  async function lookUp(visit: Visit, target: Target & { kind: "status" }): Promise<{ status: number; body: unknown }> {
    const { call, settings } = visit;
    if (call.method !== "GET" && call.method !== "HEAD") throw methodNotAllowed(call.method, "GET, HEAD");
    visit.credential = admitted(visit, presentedToken(settings, call.req));
    visit.limit = await peek(visit.credential);
    const state = target.what === "events" ? await eventState(ctx, target.id) : await turnState(ctx, target.id);
    if (!state)
      throw new PorticoError(
        "not_found",
        `There is no ${target.what.slice(0, -1)} ${target.id.slice(0, 100)} of a webhook.`,
      );
    return { status: 200, body: { status: 200, ...state } };
  }

  async function take(visit: Visit): Promise<{ status: number; body?: unknown }> {
    const { call, target, settings } = visit;
    if (call.method !== "POST" && target.kind !== "unknown") throw methodNotAllowed(call.method, "POST");
    const unreadable = await readRaw(visit);
    const admission = identify(visit);
    const { credential } = admission;
    visit.credential = credential;
    if (target.kind === "unknown")
      throw new PorticoError("not_found", `There is nothing at ${call.path.slice(0, 200)}.`);
    const raw = visit.raw ?? Buffer.alloc(0);
    const request = lazyRequest(visit);
    const key = keyOf(visit, raw, request.peek, admission.mapping);
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
      visit.plan = await planner.plan(target, await request.read(), admission.allowed);
      job = visit.plan.job;
    } catch (error) {
      const known = asked ? undefined : await askFirst(visit, key, bucket);
      if (known) return known;
      throw error;
    }
    const first: FirstAnswer = {
      status: job.status,
      body: job.body,
      ...(job.itemId === undefined ? {} : { itemId: job.itemId }),
      ...(job.wait && job.turnId !== undefined ? { waitFor: job.turnId } : {}),
    };
    const { duplicate, limit } = await store().enqueue({
      ...(key === undefined ? {} : { dedup: { key, ttlMs: REMEMBERED_MS, answer: first } }),
      ...(asked ? {} : { limit: bucket }),
      items: job.items,
      deliveries: [acceptedRow(visit, job)],
    });
    visit.limit = limit ?? visit.limit;
    if (duplicate) return repeated(visit, duplicate);
    if (limit?.allowed === false) throw limited(limit);
    announceDelivery(ctx, {
      id: visit.id,
      job,
      source: visit.plan.source,
      request: visit.plan.request,
      address: call.address,
      secrets: settings.secrets,
    });
    return answerOf(visit, first);
  }

  /** The first answer to a key that is known; else one from the limit. Throws `rate_limit_exceeded`. */
  async function askFirst(
    visit: Visit,
    key: string | undefined,
    bucket: { key: string; max: number; windowMs: number },
  ): Promise<{ status: number; body?: unknown } | undefined> {
    const known = key === undefined ? undefined : await store().known(key);
    if (known) {
      visit.limit = await store().take(bucket.key, 0, bucket.max, bucket.windowMs);
      return repeated(visit, known);
    }
    visit.limit = await store().take(bucket.key, 1, bucket.max, bucket.windowMs);
    if (!visit.limit.allowed) throw limited(visit.limit);
    return undefined;
  }

  function repeated(visit: Visit, { answer }: KnownKey): Promise<{ status: number; body?: unknown }> {
    const first = answer as FirstAnswer;
    log.note({
      ...rowOf(visit),
      outcome: "duplicate",
      ...(first.itemId === undefined ? {} : { itemId: first.itemId }),
    });
    return answerOf(visit, first);
  }

  async function answerOf(
    { call }: Visit,
    { status, body, waitFor }: FirstAnswer,
  ): Promise<{ status: number; body?: unknown }> {
    if (waitFor === undefined) return { status, body };
    return { status: 200, body: endOf(await ctx.use("agent").waitFor(waitFor, { signal: call.signal })) };
  }

  /** Reads the body. A compressed one is refused with its content type, after the credentials. */
  async function readRaw(visit: Visit): Promise<PorticoError | undefined> {
    try {
      visit.raw = await visit.call.body();
      return undefined;
    } catch (error) {
      if (isPorticoError(error) && error.code === "unsupported_media_type") return error;
      throw error;
    }
  }

  /** Who is calling, and which mappings that opens. Throws 401, 403 or 429. */
  function identify(visit: Visit): {
    credential: Credential;
    mapping?: Mapping;
    allowed: (mapping: Mapping) => boolean;
  } {
    const { call, settings, target, headers } = visit;
    checkAddress(settings, call.address);
    const token = presentedToken(settings, call.req);
    const signed = { headers, body: visit.raw ?? Buffer.alloc(0), now: Date.now() };
    if (target.kind === "mapping" && target.mapping.verifier) {
      const { mapping } = target;
      const credential = admitted(visit, presentedSignature(mapping, signed));
      return { credential, mapping, allowed: () => true };
    }
    const verified = target.kind === "root" ? signedMappings(settings, signed) : [];
    const [mapping] = verified;
    if (mapping && !token.credential) {
      return { credential: mapping.credential, mapping, allowed: (one) => verified.includes(one) };
    }
    const credential = admitted(visit, token);
    const path = target.kind === "root" ? "" : target.path;
    const allowed = (one: Mapping) =>
      one.verifier ? verified.includes(one) : credential.allows("") || credential.allows(one.name);
    if (target.kind !== "root" && !credential.allows(path)) {
      throw new PorticoError("forbidden", "This key may not call this path: webhooks.keys says which it may.");
    }
    return { credential, allowed, ...(mapping ? { mapping } : {}) };
  }

  function signedMappings({ mappings }: Settings, signed: Parameters<typeof presentedSignature>[1]): Mapping[] {
    return [...mappings.values()].filter(
      (mapping) => mapping.verifier && mapping.match && presentedSignature(mapping, signed).credential,
    );
  }

  /** A wrong credential counts against its address; a right one always passes. */
  function admitted(visit: Visit, { credential, problem }: Presented): Credential {
    checkAddress(visit.settings, visit.call.address);
    if (credential) return credential;
    if (problem !== undefined) {
      const bucket = refusals.note(visit.call.address);
      visit.limit = bucket;
      if (!bucket.allowed) {
        const seconds = secondsOf(bucket.retryAfterMs);
        throw new PorticoError(
          "too_many_attempts",
          `Too many refused credentials from this address. Try again in ${seconds} s.`,
          {
            headers: { "retry-after": String(seconds) },
          },
        );
      }
    }
    throw unauthorized(problem);
  }

  function peek({ name, limit }: Credential): Promise<Take> {
    return store().take(`webhook:${name}`, 0, limit.maxRequests, limit.windowMs);
  }

  /** What an answer says about limits when the request came to nothing. */
  async function stateFor(visit: Visit): Promise<Take> {
    if (visit.limit) return visit.limit;
    const credential = visit.credential ?? presentedToken(visit.settings, visit.call.req).credential;
    return (credential && (await peek(credential).catch(() => undefined))) ?? refusals.look(visit.call.address);
  }

  /** The request as mappings see it, read once; `peek` answers `undefined` for a body that cannot be read. */
  function lazyRequest(visit: Visit) {
    let reading: Promise<Request> | undefined;
    const text = visit.raw?.toString("utf8") ?? "";
    return {
      read: () =>
        (reading ??= planner
          .read(visit.target, visit.call)
          .then((body) => ({ body, headers: visit.headers, query: queryOf(visit.call.query) }))),
      peek: (): unknown => {
        try {
          return JSON.parse(text);
        } catch {
          return undefined;
        }
      },
    };
  }

  function keyOf(visit: Visit, raw: Buffer, body: () => unknown, mapping: Mapping | undefined): string | undefined {
    const id = deliveryId(visit.headers, raw, body, mapping?.verifier);
    return id === undefined ? undefined : `webhook:${visit.credential?.name}:${visit.target.path}:${hashOf(id)}`;
  }

  function rowOf({ id, call, target, settings, headers, credential, raw, plan }: Visit): Omit<NewDelivery, "outcome"> {
    return {
      id,
      source: plan?.source ?? target.source,
      meta: {
        method: call.method,
        path: call.path.slice(0, 500),
        target: target.path,
        query: maskFields(queryOf(call.query), settings.secrets),
        headers: maskFields(headers, settings.secrets),
        address: call.address,
        requestId: call.id,
        bytes: raw?.length ?? 0,
        ...(credential ? { credential: credential.name } : {}),
      },
    };
  }

  function acceptedRow(visit: Visit, job: Job): NewDelivery {
    const row = rowOf(visit);
    const { missing, challenge } = visit.plan ?? {};
    return {
      ...row,
      outcome: job.action !== "none" ? "accepted" : challenge ? "challenge" : "skipped",
      ...(job.itemId === undefined ? {} : { itemId: job.itemId }),
      meta: { ...row.meta, status: job.status, action: job.action, ...(missing?.length ? { missing } : {}) },
      payload: maskText(visit.raw?.toString("utf8") ?? "", visit.settings.secrets),
    };
  }

  function refusedRow(visit: Visit, error: unknown): NewDelivery {
    const row = rowOf(visit);
    const { status, code, message } = isPorticoError(error)
      ? error
      : { status: 500, code: "internal_error", message: "" };
    const outcome =
      status === 429
        ? "limited"
        : status === 401 || status === 403
          ? "unauthorized"
          : status >= 500
            ? "failed"
            : "refused";
    // whoever is nobody gets no room on our disk
    const payload = visit.credential && visit.raw ? visit.raw.toString("utf8", 0, REFUSED_PAYLOAD_CHARS) : undefined;
    return {
      ...row,
      outcome,
      meta: { ...row.meta, status, error: { code, message } },
      ...(payload === undefined ? {} : { payload: maskText(payload, visit.settings.secrets) }),
    };
  }
}

function methodNotAllowed(method: string, allow: string): PorticoError {
  return new PorticoError("method_not_allowed", `${method} is not taken here. Use ${allow}.`, { headers: { allow } });
}

function limited(limit: Take): PorticoError {
  const seconds = secondsOf(limit.retryAfterMs);
  return new PorticoError(
    "rate_limit_exceeded",
    `The limit of ${limit.limit} requests is used up. Try again in ${seconds} s.`,
    {
      headers: { "retry-after": String(seconds) },
    },
  );
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

function limitHeaders({ limit, remaining, resetMs }: Take): Record<string, string> {
  return {
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(remaining),
    "ratelimit-reset": String(Math.ceil(resetMs / 1000)),
  };
}
