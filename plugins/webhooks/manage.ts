/** The owner's side: what is set up, what has come in, replays, and dry runs. */
import {
  type Call,
  maskAddress,
  type PluginContext,
  PorticoError,
  exactJson,
  type Static,
} from "portico";
import { choiceIn, limitIn, maskNamed, secondsIn, timeIn } from "portico/strings";
import { feedsOf } from "portico/event-stream";
import { newId } from "portico/agent";
import type {} from "portico/cluster";
import { byShortId, type Delivery } from "portico/store";
import type { DeliveryLog } from "./log/delivery-log.ts";
import { maskPayload } from "./mask.ts";
import { newestDeliveries } from "./log/newest.ts";
import type { Job } from "./jobs.ts";
import { OUTCOMES } from "./outcomes.ts";
import { pathsOf, type Request } from "./mappings/paths.ts";
import type { Samples } from "./mappings/samples.ts";
import { finished } from "./mappings/respond.ts";
import { nearestPath } from "./mappings/template.ts";
import type { BodySource } from "./bodies/read.ts";
import { permissionToReplay, type Planner, type Reading, readTarget, type Target } from "./plan.ts";
import { announceDelivery } from "./log/received.ts";
import { managementRoutes } from "./routes-schema.ts";
import type { MappingConfig, testRequest } from "./schema.ts";
import { type Mapping, readMapping, sampleOf, type Settings } from "./settings.ts";

export interface ManagementOptions {
  ctx: PluginContext;
  settings(): Settings;
  log: DeliveryLog;
  planner: Planner;
  samples: Samples;
}

/** Of the newest, for ids that are given in short. */
const MOST_LOOKED_AT = 1000;

export function mountManagement({ ctx, settings, log, planner, samples }: ManagementOptions): void {
  const store = () => ctx.use("store");

  async function readAgain(target: Target, source: BodySource): Promise<Reading> {
    try {
      return await planner.read(target, source);
    } catch (cause) {
      const message = `There is nothing to replay. ${(cause as Error).message}`;
      throw new PorticoError("conflict", message, { cause });
    }
  }

  ctx.route("GET", "/webhooks", managementRoutes.list, () => listing(settings()));

  ctx.route("GET", "/webhooks/deliveries", managementRoutes.deliveries, async ({ query }) => {
    await log.flush();
    const outcome = choiceIn(query, "outcome", OUTCOMES);
    const source = query.get("source") ?? undefined;
    const filter = { limit: limitIn(query, 50), source, before: timeIn(query, "before") };
    const deliveries = await (outcome === undefined
      ? newestDeliveries(store(), filter)
      : store().deliveries.list({ ...filter, outcome }));
    return { deliveries: deliveries.map(shown) };
  });

  ctx.route("GET", "/webhooks/deliveries/:id", managementRoutes.delivery, async (call) => {
    const { payload, ...delivery } = await find(call);
    return {
      ...shown(delivery),
      payload: payload === undefined ? null : maskPayload(payload, settings().secrets),
    };
  });

  ctx.route("POST", "/webhooks/deliveries/:id/replay", managementRoutes.replay, async (call) => {
    const delivery = await find(call);
    if (delivery.payload === undefined || delivery.outcome === "unauthorized")
      throw new PorticoError(
        "conflict",
        "This delivery's body was not kept: it cannot be replayed.",
      );
    const {
      target: path = "",
      headers = {},
      query = {},
    } = delivery.meta as {
      target?: string;
      headers?: Record<string, string>;
      query?: Record<string, string>;
    };
    const target = readTarget(`${settings().prefix}/${path}`, settings());
    if (target.kind === "unknown" || target.kind === "status")
      throw new PorticoError("conflict", `There is no endpoint or mapping ${path} any more.`);
    const bytes = Buffer.from(delivery.payload);
    const isParsed = delivery.meta["parsed"] === true;
    const request: Request = {
      headers,
      query,
      ...(isParsed
        ? { body: exactJson.parse(delivery.payload) }
        : await readAgain(target, { bytes, type: headers["content-type"], limits: call.limits })),
    };
    const permission = permissionToReplay(settings(), delivery.meta["credential"]);
    const { job, source } = await planner.plan(target, request, permission);
    const id = newId("del");
    const { error: _error, missing: _missing, ...meta } = delivery.meta;
    const row = {
      id,
      source,
      outcome: job.action === "none" ? "skipped" : "accepted",
      itemId: job.itemId,
      meta: {
        ...meta,
        status: job.status,
        action: job.action,
        replayOf: delivery.id,
        requestId: call.id,
      },
      payload: delivery.payload,
    };
    await store().enqueue({ items: job.items, deliveries: [row] });
    log.written(row);
    announceDelivery(ctx, {
      id,
      job,
      source,
      request,
      address: call.address,
      secrets: settings().secrets,
    });
    const { eventId, turnId, sessionId } = job;
    return {
      ok: true,
      deliveryId: id,
      replayOf: delivery.id,
      action: job.action,
      eventId,
      turnId,
      sessionId,
    };
  });

  ctx.route("POST", "/webhooks/test", managementRoutes.test, async (call) => {
    const {
      path = "",
      headers = {},
      query = {},
      body,
      change,
    } = await call.json<Static<typeof testRequest>>();
    const target = await testTarget(path.replace(/^\//, ""), change);
    const given = sampleOf({ body, headers, query });
    const kept = body === undefined ? await sampleFor(target) : await keptFor(target);
    const request: Request = {
      body: body === undefined ? kept?.body : body,
      headers: { ...kept?.headers, ...given.headers },
      query: { ...kept?.query, ...given.query },
    };
    const { job, source, missing = [], rendering, mismatch } = await planner.plan(target, request);
    const nearest = missing.map(
      (placeholder) => [placeholder, nearestPath(placeholder, request)] as const,
    );
    return {
      ok: true,
      source,
      action: job.action,
      status: job.status,
      outcome: isSkipped(job) ? "skipped" : undefined,
      reason: mismatch,
      response: job.respond && finished(job.respond, "{result}"),
      session: job.sessionId && (rendering?.session ?? "(one of its own)"),
      task: rendering?.task,
      text: rendering?.text,
      delivery: rendering && shownDelivery(rendering.delivery),
      model: rendering?.model,
      missing,
      nearest: Object.fromEntries(nearest.filter(([, path]) => path !== undefined)),
    };
  });

  const open = feedsOf(ctx);
  const tail = (send: (delivery: unknown) => void) =>
    log.listen(({ payload: _, ...delivery }) => send(shown({ meta: {}, ...delivery })));
  ctx.add("feed", { name: "deliveries", begin: tail });
  ctx.route("GET", "/webhooks/tail", managementRoutes.tail, (call) => {
    const feed = open(call);
    const send = (delivery: unknown) => void feed.send("delivery", delivery);
    const undo = [tail(send), ctx.find("cluster")?.watch("deliveries", send)];
    feed.onClose(() => undo.forEach((each) => void each?.()));
  });

  ctx.route("POST", "/webhooks/samples/:mapping", managementRoutes.catchSample, async (call) => {
    const mapping = mappingOf(call);
    const timeoutMs = secondsIn(call.query, "timeout", 600, 3600);
    const any = call.query.get("any") === "true";
    const sample = await samples.catch(mapping.name, { any, signal: call.signal, timeoutMs });
    return { ok: true, mapping: mapping.name, sample: maskNamed(sample), paths: pathsOf(sample) };
  });

  ctx.route("GET", "/webhooks/samples/:mapping", managementRoutes.sample, async (call) => {
    const target = { kind: "mapping", mapping: mappingOf(call) } as const;
    const sample = await sampleFor(target);
    return { mapping: target.mapping.name, sample: maskNamed(sample), paths: pathsOf(sample) };
  });

  ctx.route("DELETE", "/webhooks/samples/:mapping", managementRoutes.forgetSample, async (call) => {
    await samples.forget(call.params["mapping"] ?? "");
    return { ok: true };
  });

  /** What is tried: an endpoint, or a mapping as it is, as it would be after a change, or as it is not made yet. */
  async function testTarget(path: string, change?: Partial<MappingConfig>): Promise<Target> {
    const target = readTarget(`${settings().prefix}/${path}`, settings());
    if (target.kind === "mapping" && change)
      return { ...target, mapping: await changed(target.mapping, change) };
    if (target.kind === "unknown" && change) {
      const mapping = await changed({ name: path, config: {} }, change);
      return { kind: "mapping", path, source: path, mapping };
    }
    if (target.kind !== "unknown" && target.kind !== "status") return target;
    throw new PorticoError("not_found", `There is no endpoint or mapping ${path}.`, {
      param: "path",
    });
  }

  /** The mapping as it would be. What its placeholders lack is told, not refused. */
  function changed(
    { name, config }: Pick<Mapping, "name" | "config">,
    { match, message, session }: Partial<MappingConfig>,
  ): Promise<Mapping> {
    const wanted = {
      ...config,
      match: match ?? config.match,
      message: (message ?? config.message) || undefined,
      session: (session ?? config.session) || undefined,
    };
    return readMapping(name, wanted, settings().config.rateLimit);
  }

  function mappingOf({ params }: Call): Mapping {
    const mapping = settings().mappings.get(params["mapping"] ?? "");
    if (mapping) return mapping;
    throw new PorticoError("not_found", `There is no mapping ${params["mapping"]}.`);
  }

  async function keptFor({ mapping }: Pick<Target, "mapping">): Promise<Request | undefined> {
    return mapping?.config.sample
      ? sampleOf(mapping.config.sample)
      : mapping && (await samples.of(mapping.name));
  }

  async function sampleFor(target: Pick<Target, "mapping">): Promise<Request> {
    const kept = await keptFor(target);
    if (kept) return kept;
    const { mapping } = target;
    const way = mapping
      ? `catch one first: portico webhooks catch ${mapping.name}`
      : "name a mapping that has one";
    throw new PorticoError("invalid_request_error", `There is no sample: send a body, or ${way}.`, {
      param: "body",
    });
  }

  /** By its id, in short too. */
  async function find({ params }: Call) {
    await log.flush();
    const id = params["id"] ?? "";
    const exact = await store().deliveries.get(id);
    if (exact) return exact;
    const one = byShortId(await store().deliveries.list({ limit: MOST_LOOKED_AT }), id);
    const found = one && (await store().deliveries.get(one.id));
    if (!found) throw new PorticoError("not_found", `There is no delivery ${id}.`);
    return found;
  }
}

/** A match that does not hold, or a transform that drops it. */
const isSkipped = ({ action, status, body }: Job): boolean =>
  action === "none" &&
  (status === 204 || (body as { outcome?: string } | undefined)?.outcome === "skipped");

const shownDelivery = (delivery: Mapping["config"]["delivery"] = "none"): string =>
  typeof delivery === "object" ? maskAddress(delivery.url) : delivery;

function shown({ at, meta, ...delivery }: Delivery) {
  return { ...delivery, at: new Date(at).toISOString(), ...meta };
}

function listing({ enabled, prefix, config, tokens, mappings, broken, warning }: Settings) {
  return {
    enabled,
    path: prefix,
    warning,
    rateLimit: config.rateLimit,
    credentials: tokens.map(({ credential }) => credential.name),
    endpoints: [`POST ${prefix}/wake`, `POST ${prefix}/agent`, `POST ${prefix}`],
    mappings: [...mappings.values()].map((mapping) => describe(mapping, prefix)),
    refused: Object.fromEntries(broken),
  };
}

function describe({ name, config, verifier, burst }: Mapping, prefix: string) {
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
    delivery: shownDelivery(config.delivery),
  };
}
