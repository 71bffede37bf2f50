/** The routes for the owner: the setup, received deliveries, replays, samples and dry runs. */
import { type Call, maskAddress, type PluginContext, exactJson, type Static } from "portico";
import { choiceIn, limitIn, maskNamed, secondsIn, timeIn } from "portico/strings";
import { feedsOf } from "portico/event-stream";
import { newId } from "portico/agent";
import type {} from "portico/cluster";
import { byShortId, type Delivery } from "portico/store";
import type { DeliveryLog } from "./log/delivery-log.ts";
import { maskPayload } from "./mask.ts";
import { listNewestDeliveries } from "./log/newest.ts";
import type { StartedWork } from "./started-work.ts";
import { OUTCOMES } from "./outcomes.ts";
import { listPaths, type Request } from "./mappings/paths.ts";
import type { Samples } from "./mappings/samples.ts";
import { finishResponse } from "./mappings/respond.ts";
import { findNearestPath } from "./mappings/template.ts";
import type { BodySource } from "./bodies/read.ts";
import { errors } from "./errors.ts";
import {
  findReplayPermission,
  type Plan,
  type Planner,
  type Reading,
  readTarget,
  type Target,
} from "./plan.ts";
import { announceDelivery } from "./log/received.ts";
import { managementRoutes } from "./routes-schema.ts";
import type { MappingConfig, testRequest } from "./schema.ts";
import { type Mapping, readMapping, toRequest, type Settings } from "./settings.ts";

export interface ManagementOptions {
  ctx: PluginContext;
  settings(): Settings;
  log: DeliveryLog;
  planner: Planner;
  samples: Samples;
}

/** A shortened id is searched among this number of the newest deliveries. */
const MAX_SEARCHED = 1000;

export function mountManagement(options: ManagementOptions): void {
  const { ctx, settings } = options;
  const management = new Management(options);
  const routes = managementRoutes;
  ctx.route("GET", "/webhooks", routes.list, () => viewSettings(settings()));
  ctx.route("POST", "/webhooks/test", routes.test, (call) => management.test(call));

  ctx.route("GET", "/webhooks/deliveries", routes.deliveries, (call) => management.list(call));
  ctx.route("GET", "/webhooks/deliveries/:id", routes.delivery, (call) => management.show(call));
  ctx.route("POST", "/webhooks/deliveries/:id/replay", routes.replay, (call) =>
    management.replay(call),
  );
  mountTail(options);

  ctx.route("GET", "/webhooks/samples/:mapping", routes.sample, (call) => management.sample(call));
  ctx.route("POST", "/webhooks/samples/:mapping", routes.catchSample, (call) =>
    management.catchSample(call),
  );
  ctx.route("DELETE", "/webhooks/samples/:mapping", routes.forgetSample, async ({ params }) => {
    await options.samples.forget(params["mapping"] ?? "");
    return { ok: true };
  });
}

/** Mounts the stream of new deliveries, here and at other gateways. */
function mountTail({ ctx, log }: ManagementOptions): void {
  const open = feedsOf(ctx);
  const tail = (send: (delivery: unknown) => void) =>
    log.listen(({ payload: _, ...delivery }) => send(viewDelivery({ meta: {}, ...delivery })));
  ctx.add("feed", { name: "deliveries", begin: tail });
  ctx.route("GET", "/webhooks/tail", managementRoutes.tail, (call) => {
    const feed = open(call);
    const send = (delivery: unknown) => void feed.send("delivery", delivery);
    const undo = [tail(send), ctx.add("feedWatcher", { name: "deliveries", take: send })];
    feed.onClose(() => undo.forEach((dispose) => void dispose()));
  });
}

class Management {
  readonly #options: ManagementOptions;

  constructor(options: ManagementOptions) {
    this.#options = options;
  }

  async list({ query }: Call) {
    await this.#options.log.flush();
    const outcome = choiceIn(query, "outcome", OUTCOMES);
    const source = query.get("source") ?? undefined;
    const filter = { limit: limitIn(query, 50), source, before: timeIn(query, "before") };
    const deliveries = await (outcome === undefined
      ? listNewestDeliveries(this.#store, filter)
      : this.#store.deliveries.list({ ...filter, outcome }));
    return { deliveries: deliveries.map(viewDelivery) };
  }

  async show(call: Call) {
    const { payload, ...delivery } = await this.#findDelivery(call);
    const { secrets } = this.#options.settings();
    return {
      ...viewDelivery(delivery),
      payload: payload === undefined ? null : maskPayload(payload, secrets),
    };
  }

  /** Plans a kept request again with the current configuration, and stores the items that it starts. */
  async replay(call: Call) {
    const { ctx, settings, log, planner } = this.#options;
    const delivery = await this.#findDelivery(call);
    const { target, request } = await this.#restoreRequest(delivery, call);
    const permission = findReplayPermission(settings(), delivery.meta["credential"]);
    const { work, source } = await planner.plan(target, request, permission);
    const id = newId("del");
    const { error: _error, missing: _missing, ...meta } = delivery.meta;
    const { status, action } = work;
    const row = {
      id,
      source,
      outcome: action === "none" ? "skipped" : "accepted",
      itemId: work.itemId,
      meta: { ...meta, status, action, replayOf: delivery.id, requestId: call.id },
      payload: delivery.payload,
    };
    await this.#store.enqueue({ items: work.items, deliveries: [row] });
    log.announce(row);
    const { secrets } = settings();
    announceDelivery(ctx, { id, work, source, request, address: call.address, secrets });
    const { eventId, turnId, sessionId } = work;
    return {
      ok: true,
      deliveryId: id,
      replayOf: delivery.id,
      action,
      eventId,
      turnId,
      sessionId,
    };
  }

  /** Restores the request of a kept delivery, and finds its current target. */
  async #restoreRequest(
    { payload, outcome, meta }: Delivery & { payload: string | undefined },
    { limits }: Call,
  ): Promise<{ target: Target; request: Request }> {
    if (payload === undefined || outcome === "unauthorized") throw errors.bodyNotKept();
    if (meta["incomplete"] === true) throw errors.bodyIncomplete();
    const { target: path = "", headers = {}, query = {} } = meta as KeptRequest;
    const { settings } = this.#options;
    const target = readTarget(`${settings().prefix}/${path}`, settings());
    if (target.kind === "unknown" || target.kind === "status") throw errors.targetGone({ path });
    const type = headers["content-type"];
    const reading =
      meta["parsed"] === true
        ? { body: exactJson.parse(payload) }
        : await this.#readAgain(target, { bytes: Buffer.from(payload), type, limits });
    return { target, request: { headers, query, ...reading } };
  }

  async #readAgain(target: Target, source: BodySource): Promise<Reading> {
    try {
      return await this.#options.planner.read(target, source);
    } catch (cause) {
      throw errors.nothingToReplay({ reason: (cause as Error).message }, { cause });
    }
  }

  /** Shows what a request would start, and starts nothing. */
  async test(call: Call) {
    const { path = "", change, ...input } = await call.json<TestRequest>();
    const target = await this.#findTarget(path, change);
    const request = await this.#sampleRequest(target, input);
    const plan = await this.#options.planner.plan(target, request);
    return viewPlan(plan, request);
  }

  /** Returns the target of a test: an endpoint, or a mapping that exists, is changed, or does not exist yet. */
  async #findTarget(path: string, change: TestRequest["change"]): Promise<Target> {
    const { settings } = this.#options;
    const name = path.replace(/^\//, "");
    const target = readTarget(`${settings().prefix}/${name}`, settings());
    if (target.kind === "mapping" && change !== undefined)
      return { ...target, mapping: await this.#changeMapping(target.mapping, change) };
    if (target.kind === "unknown" && change !== undefined) {
      const mapping = await this.#changeMapping({ name, config: {} }, change);
      return { kind: "mapping", path: name, source: name, mapping };
    }
    if (target.kind === "unknown" || target.kind === "status")
      throw errors.unknownTarget({ path: name }, { param: "path" });
    return target;
  }

  /** Returns the request of the caller, completed from the kept sample. */
  async #sampleRequest(
    target: Target,
    { body, headers, query }: Pick<TestRequest, "body" | "headers" | "query">,
  ): Promise<Request> {
    const input = toRequest({ body, headers, query });
    const sample =
      body === undefined ? await this.#requireSample(target) : await this.#findSample(target);
    return {
      body: body === undefined ? sample?.body : body,
      headers: { ...sample?.headers, ...input.headers },
      query: { ...sample?.query, ...input.query },
    };
  }

  /** Applies changes to a mapping for a test. It does not check placeholders against the sample, since the test shows these. */
  #changeMapping(
    { name, config }: Pick<Mapping, "name" | "config">,
    { match, message, session }: Partial<MappingConfig>,
  ): Promise<Mapping> {
    const newConfig = {
      ...config,
      match: match ?? config.match,
      message: (message ?? config.message) || undefined,
      session: (session ?? config.session) || undefined,
    };
    return readMapping(name, newConfig, this.#options.settings().config.rateLimit);
  }

  async catchSample(call: Call) {
    const { name } = this.#findMapping(call);
    const timeoutMs = secondsIn(call.query, "timeout", 600, 3600);
    const any = call.query.get("any") === "true";
    const sample = await this.#options.samples.catch(name, {
      any,
      signal: call.signal,
      timeoutMs,
    });
    return { ok: true, mapping: name, sample: maskNamed(sample), paths: listPaths(sample) };
  }

  async sample(call: Call) {
    const mapping = this.#findMapping(call);
    const sample = await this.#requireSample({ mapping });
    return { mapping: mapping.name, sample: maskNamed(sample), paths: listPaths(sample) };
  }

  #findMapping({ params }: Call): Mapping {
    const name = params["mapping"] ?? "";
    const mapping = this.#options.settings().mappings.get(name);
    if (mapping) return mapping;
    throw errors.unknownMapping({ name });
  }

  async #findSample({ mapping }: Pick<Target, "mapping">): Promise<Request | undefined> {
    if (mapping === undefined) return undefined;
    const { sample } = mapping.config;
    return sample ? toRequest(sample) : this.#options.samples.get(mapping.name);
  }

  async #requireSample(target: Pick<Target, "mapping">): Promise<Request> {
    const sample = await this.#findSample(target);
    if (sample) return sample;
    throw target.mapping
      ? errors.noSample({ mapping: target.mapping.name }, { param: "body" })
      : errors.noSampleNamed({ param: "body" });
  }

  /** Returns the delivery with the id in the path, which may be shortened. Throws `not_found`. */
  async #findDelivery({ params }: Call) {
    await this.#options.log.flush();
    const id = params["id"] ?? "";
    const { deliveries } = this.#store;
    const exact = await deliveries.get(id);
    if (exact) return exact;
    const match = byShortId(await deliveries.list({ limit: MAX_SEARCHED }), id);
    const delivery = match && (await deliveries.get(match.id));
    if (!delivery) throw errors.unknownDelivery({ id });
    return delivery;
  }

  get #store() {
    return this.#options.ctx.use("store");
  }
}

/** The part of a request that the delivery log keeps in addition to the body. */
interface KeptRequest {
  target?: string;
  headers?: Record<string, string>;
  query?: Record<string, string>;
}

type TestRequest = Static<typeof testRequest>;

function viewPlan(plan: Plan, request: Request) {
  const { work, source, missing = [], rendering, mismatch } = plan;
  const nearest = missing.map(
    (placeholder) => [placeholder, findNearestPath(placeholder, request)] as const,
  );
  return {
    ok: true,
    source,
    action: work.action,
    status: work.status,
    outcome: isSkipped(work) ? "skipped" : undefined,
    reason: mismatch,
    response: work.respond && finishResponse(work.respond, "{result}"),
    session: work.sessionId && (rendering?.session ?? "(a separate session)"),
    task: rendering?.task,
    text: rendering?.text,
    delivery: rendering && viewTarget(rendering.delivery),
    model: rendering?.model,
    missing,
    nearest: Object.fromEntries(nearest.filter(([, path]) => path !== undefined)),
  };
}

/** Returns whether the request does not match, or a transform drops it. */
const isSkipped = ({ action, status, body }: StartedWork): boolean =>
  action === "none" &&
  (status === 204 || (body as { outcome?: string } | undefined)?.outcome === "skipped");

const viewTarget = (delivery: Mapping["config"]["delivery"] = "none"): string =>
  typeof delivery === "object" ? maskAddress(delivery.url) : delivery;

function viewDelivery({ at, meta, ...delivery }: Delivery) {
  return { ...delivery, at: new Date(at).toISOString(), ...meta };
}

function viewSettings({ enabled, prefix, config, tokens, mappings, broken, warning }: Settings) {
  return {
    enabled,
    path: prefix,
    warning,
    rateLimit: config.rateLimit,
    credentials: tokens.map(({ credential }) => credential.name),
    endpoints: [`POST ${prefix}/wake`, `POST ${prefix}/agent`, `POST ${prefix}`],
    mappings: [...mappings.values()].map((mapping) => viewMapping(mapping, prefix)),
    refused: Object.fromEntries(broken),
  };
}

function viewMapping({ name, config, verifier, burst }: Mapping, prefix: string) {
  return {
    name,
    path: `${prefix}/${name}`,
    action: config.action ?? "agent",
    credential: verifier ? `signature (${verifier.scheme})` : "token",
    byMatch: config.match !== undefined,
    match: Object.keys(config.match ?? {}),
    message: config.message ?? null,
    session: config.session ?? null,
    transform: config.transform ?? null,
    coalesce: burst !== undefined,
    delivery: viewTarget(config.delivery),
  };
}
